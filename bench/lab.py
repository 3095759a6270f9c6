"""The machines on which things are measured."""
import os
import pathlib
import re
import subprocess
import tarfile
import io

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Times a command where it runs, so that the way into the node does not count.
TIMED = """TIMEFORMAT='%3R %3U %3S'
rc=0
{ time timeout "$1" "${@:2}" >/var/tmp/bench.output 2>&1 </dev/null; } 2>/var/tmp/bench.time || rc=$?
echo "rc $rc"; cat /var/tmp/bench.time; tail -c 20000 /var/tmp/bench.output"""


class Failed(Exception):
    """A command that did not do what was to be measured."""


class Timing:
    def __init__(self, wall_s, cpu_s, output):
        self.wall_s = wall_s
        self.cpu_s = cpu_s
        self.output = output


def run(argv, seconds=300, **options):
    """Standard output of a command on this machine; Failed with its last lines."""
    try:
        options.setdefault("cwd", ROOT)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds,
                              stdin=subprocess.DEVNULL if "input" not in options else None,
                              check=False, **options)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(argv[:6])} …: no end in {seconds} s") from late
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise Failed(f"{' '.join(argv[:6])} …: exit code {done.returncode}: {' / '.join(last)}")
    return done.stdout


class Lab:
    """One lab of our own; a context manager that takes it down."""

    def __init__(self, name, compute):
        self.name = name
        self.compute = compute
        self.folder = pathlib.Path(os.environ.get("MUSTER_LAB_STATE", "/var/lib/muster-lab")) / name

    def __enter__(self):
        self._verb("up", "--login", "1", "--compute", str(self.compute), seconds=600)
        self.muster("inventory", "apply", str(self.folder / "inventory"))
        return self

    def __exit__(self, *_):
        subprocess.run([ROOT / "dev", "lab", "down", "--name", self.name], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _verb(self, verb, *arguments, seconds=300, **options):
        return run([str(ROOT / "dev"), "lab", verb, "--name", self.name, *arguments], seconds,
                   **options)

    def muster(self, *arguments, seconds=300):
        return self._verb("muster", *arguments, seconds=seconds)

    def shell(self, node, script, *arguments, seconds=300):
        return self._verb("exec", node, "bash", "-ec", script, "bash", *arguments, seconds=seconds)

    def install(self, node, *packages):
        self.shell(node, 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq'
                   ' -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null 2>&1',
                   *packages, seconds=600)

    def put(self, node, folder, target):
        """Copies a folder of this machine into a node."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(folder, arcname=".")
        done = subprocess.run(
            [ROOT / "dev", "lab", "exec", "--name", self.name, node, "sh", "-c",
             'mkdir -p "$1" && tar -x --no-same-owner -C "$1"', "sh", target],
            input=packed.getvalue(), cwd=ROOT, check=False, capture_output=True)
        if done.returncode != 0:
            raise Failed(f"copying {folder} to {node}: {done.stderr.decode()[-300:]}")

    def timed(self, node, *argv, cgroups=(), seconds=600, good=(0,)):
        """Runs a command in a node. CPU: its own and its children's, and what the cgroups of the
        nodes named used meanwhile (daemons, what comes in by ssh)."""
        before = sum(self.cpu_s(name) for name in cgroups)
        text = self.shell(node, TIMED, str(seconds), *argv, seconds=seconds + 60)
        cpu = sum(self.cpu_s(name) for name in cgroups) - before
        head, _, rest = text.partition("\n")
        times, _, output = rest.partition("\n")
        numbers = re.fullmatch(r"([\d.]+) ([\d.]+) ([\d.]+)", times.strip())
        code = int(head.split()[1])
        if code not in good or not numbers:
            last = " / ".join(output.strip().splitlines()[-4:])
            raise Failed(f"{argv[0]} on {node}: exit code {code}: {last[-600:]}")
        wall, user, system = map(float, numbers.groups())
        return Timing(wall, user + system + cpu, output)

    def cpu_s(self, node):
        """CPU seconds of everything that runs in the node's cgroup."""
        group = f"muster-lab/{self.name}/{node}"
        for hierarchy in ("cpuacct", "cpu,cpuacct"):
            path = pathlib.Path(f"/sys/fs/cgroup/{hierarchy}/{group}/cpuacct.usage")
            if path.exists():
                return int(path.read_text()) / 1e9
        text = pathlib.Path(f"/sys/fs/cgroup/{group}/cpu.stat").read_text()
        return int(re.search(r"usage_usec (\d+)", text)[1]) / 1e6

    def agent(self, node):
        return self.process(node, "pidof muster-agent")

    def process(self, node, pid):
        """What the kernel counts of a node's process, whose number a command prints."""
        text = self.shell(node, """pid=$(eval "$1")
cat /proc/$pid/status
echo "stat $(sed 's/.*) //' /proc/$pid/stat)"
cat /proc/$pid/task/*/status | grep ctxt_switches | awk '{n += $2} END {print "switches", n}'""", pid)
        fields = dict(line.split(None, 1) for line in text.splitlines() if len(line.split()) > 1)
        stat = fields["stat"].split()
        tick = os.sysconf("SC_CLK_TCK")
        return {
            "pid": int(fields["Pid:"]),
            "rss_mb": int(fields["VmRSS:"].split()[0]) * 1024 / 1e6,
            "anon_mb": int(fields["RssAnon:"].split()[0]) * 1024 / 1e6,
            "file_mb": int(fields["RssFile:"].split()[0]) * 1024 / 1e6,
            "cpu_s": (int(stat[11]) + int(stat[12])) / tick,
            # Children count when they have ended.
            "children_s": (int(stat[13]) + int(stat[14])) / tick,
            "switches": int(fields["switches"]),
        }
