"""A first install by Muster beside apt alone: the same packages from the same cache, on fresh
nodes, in turns, so that neither always comes first."""
import statistics

from lab import Failed

PAIRS = 3
NODES = 2 * PAIRS
# What an administrator would type; Muster, too, fetches the lists first on a node new to it.
ALONE = """apt-get update -qq
exec apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 $(cat /root/work/packages)"""


def measure(lab, work, first_node, figures):
    nodes = [f"c{first_node + i:03}" for i in range(NODES)]
    try:
        seconds = {"apt": [], "muster": []}
        lab.put("login1", work, "/root/work")
        # Into the cache of this machine, for all that follow.
        lab.shell("login1", "apt-get update -qq && apt-get install -d -y -qq "
                  "--no-install-recommends $(cat /root/work/packages) >/dev/null", seconds=600)
        lab.muster("node", "bootstrap", "--ssh", f"c[{nodes[0][1:]}-{nodes[-1][1:]}]")
        for i, node in enumerate(nodes):
            lab.put(node, work, "/root/work")
            # A B, B A, A B
            by_apt = i % 4 in (0, 3)
            seconds["apt" if by_apt else "muster"].append(install(lab, node, by_apt))
    except Failed as why:
        figures.miss("first install, muster / apt", str(why))
        return
    alone, ours = statistics.median(seconds["apt"]), statistics.median(seconds["muster"])
    figures.add("first install of 30 packages, apt alone", alone, "s")
    figures.add("first install of 30 packages, muster", ours, "s")
    figures.add("first install, muster / apt", ours / alone, "times", "<= 1.15")


def install(lab, node, by_apt):
    if by_apt:
        return lab.timed(node, "env", "DEBIAN_FRONTEND=noninteractive", "bash", "-c", ALONE).wall_s
    return lab.timed("login1", "muster", "apply", "/root/work/muster-packages/site.yaml", "--yes",
                     "--limit", node).wall_s
