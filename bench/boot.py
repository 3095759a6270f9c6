"""How long many machines that boot at once take for their root: from the controller alone, and from each other."""
import tempfile
import time

from boot_network import BootNetwork
from lab import Failed

# A scale model: here a link takes eight seconds for the root, as one of 10 Gbit/s does for 10 GB.
RATE = "8mbit"
ROOT_MIB = 8
MACHINES = 64
# Beside those of all.
FEWER = (1, 8)
SECONDS = 1200


def fetch(network, machines, digest):
    """Seconds until the last of so many has its root, and the MiB that the controller sent."""
    words = {machine: network.words(machine) for machine in range(1, machines + 1)}
    before, start = network.sent(), time.monotonic()
    processes = [network.start(machine, words[machine]) for machine in words]
    try:
        for process in processes:
            said, _ = process.communicate(timeout=SECONDS)
            if digest not in said:
                raise Failed(f"a machine has another root: {said.strip()[-300:]}")
        return time.monotonic() - start, network.sent() - before
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measure(figures):
    with tempfile.TemporaryDirectory(prefix="muster-boot-") as folder, BootNetwork(folder, MACHINES, RATE) as network:
        digest = network.keep_root(ROOT_MIB)
        times = {}
        for word, peers in (("from each other", True), ("from the controller", False)):
            network.describe(peers)
            for machines in (*FEWER, MACHINES):
                times[peers, machines], sent = fetch(network, machines, digest)
                figures.add(f"root of {machines} machines, {word}", times[peers, machines], "s")
                figures.add(f"the controller sent, {machines} machines, {word}", sent / ROOT_MIB, "roots")
        figures.add(f"{MACHINES} machines / one", times[True, MACHINES] / times[False, 1], "times", "<= 2")
        figures.add(f"{MACHINES} machines, from the controller / from each other",
                    times[False, MACHINES] / times[True, MACHINES], "times")
