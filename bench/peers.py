"""The same 100 steps by Muster, ansible-core, puppet apply and cf-agent, each on a node of its own
that is as fresh as the others'. ansible-core runs on login1, as Muster's command line does."""
import statistics

from lab import Failed

WORK = "/root/work"
# Everything that the work is about: equal on all nodes, or the tools did not do the same.
RESULT = r"""
(cd /etc/bench && find . -printf '%P %y %m %U %G %l\n' | sort && find . -type f -print0 | sort -z |
   xargs -0 sha256sum)
sha256sum /etc/systemd/system/bench-*.service
dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(cat /root/work/packages)
getent passwd bench1 bench2 bench3 bench4 bench5
systemctl is-active bench-1.service bench-2.service bench-3.service ssh systemd-networkd
systemctl is-enabled bench-1.service bench-2.service bench-3.service ssh systemd-networkd
"""
ANSIBLE = "cd /root/work/ansible && exec ansible-playbook -i c002, site.yaml"
# 2: something was changed.
PUPPET = ("puppet", "apply", "--detailed-exitcodes", "--modulepath", f"{WORK}/puppet/modules",
          f"{WORK}/puppet/site.pp")
# The module that asks apt comes with the package, but not where cf-agent looks for it.
CFENGINE_SETUP = """install -D -m 755 \\
  /usr/share/cfengine3/masterfiles/modules/packages/vendored/apt_get.mustache \\
  /var/lib/cfengine3/modules/packages/apt_get"""


class Tool:
    """A peer: how it gets onto its node, and its one command."""

    def __init__(self, name, node, prepare, command, cgroups, runs_on=None, good=(0,), repeat=3):
        self.name = name
        self.node = node
        self.prepare = prepare
        self.command = command
        self.cgroups = cgroups
        self.runs_on = runs_on or node
        self.good = good
        self.repeat = repeat


def prepare_ansible(lab):
    lab.install("login1", "ansible-core", "openssh-client")
    lab.install("c002", "python3", "python3-apt")
    lab.put("login1", lab.folder / "ssh", "/root/lab-ssh")
    lab.shell("login1", """mkdir -p -m 700 /root/.ssh
cp /root/lab-ssh/id_ed25519 /root/lab-ssh/known_hosts /root/.ssh/
chmod 600 /root/.ssh/id_ed25519""")


def prepare_cfengine(lab):
    lab.install("c004", "cfengine3", "python3")
    lab.shell("c004", CFENGINE_SETUP)


TOOLS = [
    Tool("muster", "c001", lambda lab: lab.muster("node", "bootstrap", "--ssh", "c001"),
         ("muster", "apply", f"{WORK}/muster/site.yaml", "--yes", "--limit", "c001"),
         ("c001", "login1"), runs_on="login1", repeat=7),
    Tool("ansible", "c002", prepare_ansible, ("bash", "-c", ANSIBLE), ("c002",), runs_on="login1",
         repeat=1),
    Tool("puppet", "c003", lambda lab: lab.install("c003", "puppet-agent"), PUPPET, ("c003",),
         good=(0, 2), repeat=2),
    Tool("cfengine", "c004", prepare_cfengine,
         ("cf-agent", "-K", "-f", f"{WORK}/cfengine/site.cf"), ("c004",), repeat=5),
]
NODES = len(TOOLS)
# How often Muster's no-op run is repeated to count its agent's ticks of 10 ms.
AGENT_RUNS = 10


def measure(lab, work, figures):
    lab.put("login1", work, WORK)
    results, noop = {}, {}
    for tool in TOOLS:
        try:
            results[tool.name], noop[tool.name] = measure_tool(lab, work, tool, figures)
        except Failed as why:
            figures.miss(f"100 steps by {tool.name}", str(why))
    if "muster" not in noop:
        return
    figures.add("no-op run of 100 steps, seen from the command line", noop["muster"] * 1000, "ms",
                "<= 300")
    for name, seconds in noop.items():
        if name == "muster":
            continue
        figures.add(f"no-op run, {name} / muster", seconds / noop["muster"], "times",
                    ">= 100" if name == "ansible" else "")
        if results[name] != results["muster"]:
            figures.miss(f"equal work by {name}", difference(results["muster"], results[name]))
    measure_agent(lab, figures)


def measure_tool(lab, work, tool, figures):
    tool.prepare(lab)
    lab.put(tool.node, work, WORK)

    def once():
        return lab.timed(tool.runs_on, *tool.command, cgroups=tool.cgroups, good=tool.good)

    first = once()
    figures.add(f"first run, {tool.name}", first.wall_s, "s")
    figures.add(f"first run, {tool.name}, CPU", first.cpu_s, "s")
    again = [once() for _ in range(tool.repeat)]
    wall = statistics.median(run.wall_s for run in again)
    figures.add(f"no-op run, {tool.name}", wall, "s")
    figures.add(f"no-op run, {tool.name}, CPU",
                statistics.median(run.cpu_s for run in again), "s")
    return lab.shell(tool.node, RESULT), wall


def measure_agent(lab, figures):
    tool = TOOLS[0]
    try:
        before = lab.agent(tool.node)
        for _ in range(AGENT_RUNS):
            run = lab.timed(tool.runs_on, *tool.command)
            if "changed=0" not in run.output:
                raise Failed("a run that was to change nothing changed something")
        spent = lab.agent(tool.node)["cpu_s"] - before["cpu_s"]
    except Failed as why:
        figures.miss("no-op run, the agent's own CPU", str(why))
        return
    figures.add("no-op run, the agent's own CPU", spent / AGENT_RUNS * 1000, "ms", "<= 50")


def difference(want, got):
    wanted, found = want.splitlines(), got.splitlines()
    odd = [f"-{line}" for line in wanted if line not in found][:3]
    odd += [f"+{line}" for line in found if line not in wanted][:3]
    return "another result than muster's: " + " ".join(odd)
