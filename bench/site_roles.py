"""The complete site with what Debian itself carries: a bare node's first rollout beside apt alone for
the same packages, and an apply that changes nothing over all nodes."""
import statistics

import update_steps
from lab import Failed

CLUSTER = 3  # workers of the no-op; the others are bare until their first rollout is measured
PAIRS = 3
NODES = CLUSTER + 2 * PAIRS
NOOPS = 5
VARIABLES = """groups:
  everything:
    nodes: "login1,c[001-{last:03}]"
    vars:
      container_runtimes: [docker, podman]
      slurm_accounting_host: login1
      slurm_prolog: true
      slurm_accounts: [{{name: physics}}]
      slurm_users: [{{name: ann, accounts: physics}}]
      cluster_groups: [{{name: people, gid: 2000}}]
      cluster_users: [{{name: ann, uid: 2001, group: people}}]
      prometheus_host: login1
      module_system: environment-modules
      data_science_packages: [python3-numpy]
"""
SITE = "/usr/share/muster/playbooks/site.yaml"
INSTALLED = "dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n' | sed -n 's/^ii *//p' | sort"
# What an administrator would type; Muster, too, fetches the lists first on a node new to it.
ALONE = """apt-get update -qq
exec apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" """


def measure(lab, first_node, figures):
    nodes = [f"c{first_node + i:03}" for i in range(NODES)]
    try:
        (lab.folder / "inventory/site.yaml").write_text(VARIABLES.format(last=first_node + NODES - 1),
                                                        encoding="utf-8")
        lab.muster("inventory", "apply", str(lab.folder / "inventory"))
        lab.muster("node", "bootstrap", "--ssh", f"login1,{','.join(nodes)}")
        bare = set(lab.shell(nodes[0], INSTALLED).split())
        roll_out(lab, ["login1", *nodes[:CLUSTER]])
        packages = sorted(set(lab.shell(nodes[0], INSTALLED).split()) - bare)
        no_ops = [roll_out(lab, ["login1", *nodes[:CLUSTER]]) for _ in range(NOOPS)]
        update_steps.measure(lab, nodes[:CLUSTER], figures)
        seconds = {"apt": [], "muster": []}
        for i, node in enumerate(nodes[CLUSTER:]):
            # A B, B A, A B
            if i % 4 in (0, 3):
                seconds["apt"].append(lab.timed(
                    node, "env", "DEBIAN_FRONTEND=noninteractive", "bash", "-c", ALONE, "bash",
                    *packages).wall_s)
            else:
                seconds["muster"].append(roll_out(lab, [node]))
    except Failed as why:
        figures.miss("complete site", str(why))
        return
    alone, ours = statistics.median(seconds["apt"]), statistics.median(seconds["muster"])
    figures.add(f"complete site, {len(packages)} packages of a worker, apt alone", alone, "s")
    figures.add("complete site, a bare worker, muster", ours, "s")
    figures.add("complete site, muster / apt", ours / alone, "times", "<= 1.1")
    figures.add(f"complete site, no-op run over 1 + {CLUSTER} nodes", statistics.median(no_ops), "s",
                "<= 1")


def roll_out(lab, nodes):
    return lab.timed("login1", "muster", "apply", SITE, "--yes", "--skip-validation", "--limit",
                     ",".join(nodes)).wall_s
