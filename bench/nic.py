"""TCP between two network namespaces: nic-pair beside iperf3 on the same pair of interfaces."""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

from lab import ROOT, Failed, run

WORKER = ROOT / "build/release/bin/muster-burnin"
ADDRESSES = ("10.213.0.1", "10.213.0.2")
TURNS = 5
SECONDS = 4
WARMUP = 1
# Rate of the token bucket of both ends; "" leaves the pair as fast as the machine is.
LINKS = (("", (1, 8)), ("1gbit", (1, 8)))
TARGET = ">= 0.95"


class Namespaces:
    """Two namespaces with a pair of interfaces between them; a context manager that removes both."""

    def __init__(self):
        self.names = [f"mbench{os.getpid()}{end}" for end in "ab"]
        self.interfaces = ["mb0", "mb1"]

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.__exit__)
            for name in self.names:
                run(["ip", "netns", "add", name])
            run(["ip", "link", "add", "mb0", "netns", self.names[0], "type", "veth",
                 "peer", "name", "mb1", "netns", self.names[1]])
            for name, interface, address in zip(self.names, self.interfaces, ADDRESSES):
                run(["ip", "-n", name, "addr", "add", f"{address}/24", "dev", interface])
                run(["ip", "-n", name, "link", "set", interface, "up"])
                run(["ip", "-n", name, "link", "set", "lo", "up"])
            undo.pop_all()
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def limit(self, rate):
        """Holds both directions to `rate`, as a slower card would; "" lifts it."""
        for name, interface in zip(self.names, self.interfaces):
            if rate:
                run(["tc", "-n", name, "qdisc", "replace", "dev", interface, "root", "tbf",
                     "rate", rate, "burst", "256kb", "latency", "20ms"])
            else:
                subprocess.run(["tc", "-n", name, "qdisc", "del", "dev", interface, "root"],
                               check=False, stderr=subprocess.DEVNULL)

    def inside(self, end, *argv):
        return ["ip", "netns", "exec", self.names[end], *map(str, argv)]


@contextlib.contextmanager
def started(argv, **options):
    """A process that is ended with the block, by its own id."""
    process = subprocess.Popen(argv, text=True, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()


def next_line(process, seconds):
    """A line of JSON of a worker; one that says nothing for so long is ended: Failed."""
    limit = threading.Timer(seconds, process.kill)
    limit.start()
    line = process.stdout.readline()
    limit.cancel()
    if not line:
        raise Failed("muster-burnin: no result")
    return json.loads(line)


def run_pair(namespaces, options):
    """Results of both ranks of nic-pair."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder, contextlib.ExitStack() as stack:
        key = pathlib.Path(folder) / "key"
        key.write_text(os.urandom(32).hex())
        workers = []
        for rank in range(2):
            workers.append(stack.enter_context(started(
                namespaces.inside(rank, WORKER, "nic-pair", "--json", "--rank", rank, "--ranks", 2,
                                  "--key-file", key, *options),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)))
        peers = []
        for worker, address in zip(workers, ADDRESSES):
            listening = None
            while not listening:
                line = next_line(worker, 10)
                if "result" in line:
                    raise Failed(f"nic-pair: {line['result'].get('reason')}")
                listening = line["progress"].get("listening")
            peers.append({"address": address, "port": listening["port"]})
        results = []
        for worker in workers:
            worker.stdin.write(json.dumps({"peers": peers}) + "\n")
            worker.stdin.flush()
        for worker in workers:
            line = {}
            while "result" not in line:
                line = next_line(worker, 60)
            results.append(line["result"])
    for result in results:
        if result["outcome"] != "OUTCOME_PASS":
            raise Failed(f"nic-pair: {result.get('reason')}")
    return results


def burnin_gbits(namespaces, streams):
    result = run_pair(namespaces, ["--streams", streams, "--duration", f"{SECONDS}s",
                                   "--warmup", f"{WARMUP}s", "--latency-duration", "100ms",
                                   "--set", "duplex=false"])[0]
    return next(metric["value"] for metric in result["metrics"] if metric["name"] == "send_gbits")


def iperf3_gbits(namespaces, streams, *options):
    with started(namespaces.inside(1, "iperf3", "-s", "-1"), stdout=subprocess.DEVNULL):
        argv = namespaces.inside(0, "iperf3", "-c", ADDRESSES[1], "-J", "-P", streams,
                                 "-t", SECONDS, "-O", WARMUP, *options)
        for _ in range(50):
            # It says "error" and exits with 0 while the server does not listen yet.
            answer = json.loads(run(argv, 60))
            if "sum_received" in answer["end"]:
                return answer["end"]["sum_received"]["bits_per_second"] / 1e9
            time.sleep(0.1)
    raise Failed(f"iperf3: {answer.get('error')}")


def measure(figures):
    with Namespaces() as namespaces:
        for rate, counts in LINKS:
            namespaces.limit(rate)
            for streams in counts:
                tools = {
                    "nic-pair": lambda n=streams: burnin_gbits(namespaces, n),
                    "iperf3": lambda n=streams: iperf3_gbits(namespaces, n),
                    "iperf3 -Z": lambda n=streams: iperf3_gbits(namespaces, n, "-Z"),
                }
                values = {name: [] for name in tools}
                for turn in range(TURNS):
                    # Whoever goes first this time goes last the next.
                    for name in list(tools)[::1 if turn % 2 == 0 else -1]:
                        values[name].append(tools[name]())
                medians = {name: statistics.median(taken) for name, taken in values.items()}
                where = f"{streams} stream{'s' if streams > 1 else ''}, {rate or 'no limit'}"
                for name, gbits in medians.items():
                    figures.add(f"{name}, {where}", gbits, "Gbit/s")
                for name in ("iperf3", "iperf3 -Z"):
                    figures.add(f"nic-pair / {name}, {where}", medians["nic-pair"] / medians[name],
                                "", TARGET)
