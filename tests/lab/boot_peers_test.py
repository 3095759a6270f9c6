#!/usr/bin/python3
"""Machines that pass the chunks of a root on to each other, by the functions of their initramfs.

They get most of it not from the controller. Then one of them gives others something else, without an end, one leaves
in between, one asks for a boot that the controller does not know, and one has a server that stops: all others get
their root, and so do the last two.
"""
import contextlib
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from boot_network import PORT, SERVER, BootNetwork  # noqa: E402
from lab import Failed, run  # noqa: E402

MACHINES = 6
LIAR, LOST, LEAVER = 4, 5, 6
HONEST = (1, 2, 3)
# Four seconds, so that all are at it at the same time.
ROOT_MIB, RATE = 8, "20mbit"
SECONDS = 120
# Says that it has what it is asked for, and never ends.
GARBAGE = """
import http.server
class Garbage(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(bytes(1 << 16))
        except OSError:
            pass
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("", 7484), Garbage).serve_forever()
"""

# Stops after half of a file, and sends the rest of it to who asks for that.
STOPPING = """
import http.server, time
content = bytes(range(256)) * 4096
class Stopping(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = self.headers.get("Range")
        first = int(asked[len("bytes="):-1]) if asked else 0
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - first))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        self.wfile.write(content[first:] if asked else content[:len(content) // 2])
        if not asked:
            time.sleep(3600)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("", 7485), Stopping).serve_forever()
"""
STOPPING_DIGEST = hashlib.sha256(bytes(range(256)) * 4096).hexdigest()


def step(text):
    print(f"== {text}", flush=True)


def fetch(network, machine, url):
    return run(network.inside(machine, "busybox", "wget", "-q", "-O", "-", url))


def take_all_chunks(network, machine, words):
    """Says of each chunk that it has it, as a machine does that is believed."""
    chunks = next(word for word in words if word.startswith("muster.chunks=")).partition("=")[2]
    said = ""
    while True:
        kind, *rest = fetch(network, machine, chunks + said).split()
        if kind == "whole":
            return
        if kind == "wait":
            time.sleep(float(rest[0]))
            said = ""
        else:
            said = f"&had={rest[0]}"


def expect_root(process, digest, who):
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
    if digest not in said:
        raise Failed(f"{who} has another root: {said.strip()[-500:]}")


@contextlib.contextmanager
def serving(network, machine, program):
    server = subprocess.Popen(network.inside(machine, sys.executable, "-c", program), stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        server.kill()
        server.wait()


def start_all(network, digest):
    words = {machine: network.words(machine) for machine in HONEST}
    processes = {machine: network.start(machine, words[machine]) for machine in HONEST}
    for machine, process in processes.items():
        expect_root(process, digest, f"machine {machine}")


def main():
    with tempfile.TemporaryDirectory(prefix="muster-boot-") as folder, \
            BootNetwork(folder, MACHINES, RATE) as network:
        digest = network.keep_root(ROOT_MIB)
        network.describe(peers=True)

        step("machines have most of their root from each other")
        before = network.sent()
        start_all(network, digest)
        sent = (network.sent() - before) / ROOT_MIB
        print(f"the controller sent {sent:.2f} roots to {len(HONEST)} machines")
        if sent > len(HONEST) - 1:
            raise Failed("the machines had nothing from each other")

        step("one machine gives garbage for every chunk, and the others get their root")
        with serving(network, LIAR, GARBAGE):
            take_all_chunks(network, LIAR, network.words(LIAR))
            leaver = network.start(LEAVER, network.words(LEAVER))
            threading.Timer(1, leaver.kill).start()
            start_all(network, digest)
            leaver.wait()

        step("where nobody says who has the next chunk, the root comes whole")
        words = [re.sub(r"(muster\.chunks=.*boot=).*", r"\g<1>5f0c1a52-1b2c-4d3e-8f00-0123456789ab", word)
                 for word in network.words(LOST)]
        expect_root(network.start(LOST, words), digest, "the machine of an unknown boot")

        step("where a server stops, the rest is asked for again")
        with serving(network, LIAR, STOPPING):
            words = [f"muster.root=http://{network.address(LIAR)}:7485/root", "patience=2"]
            expect_root(network.start(1, words), STOPPING_DIGEST, "the machine of a server that stops")

        step("a machine whose memory the root does not fit into says so")
        words = [re.sub("(muster.size=).*", r"\g<1>1000000000000000", word) for word in network.words(LEAVER)]
        said, _ = network.start(LEAVER, words).communicate(timeout=SECONDS)
        shown = network.muster("boot", "show", f"m{LEAVER}")
        for text in (said, shown):
            if "the root needs 953674380 MiB of memory" not in text:
                raise Failed(f"the machine does not say that it has too little memory:\n{text}")
        if "no memory" not in shown:
            raise Failed(f"the boot is shown as something else:\n{shown}")

        step("the controller knows which machines have their root")
        shown = network.muster("boot", "show", f"m[1-{LOST}]")
        for machine in (*HONEST, LOST):
            if not re.search(rf"^m{machine} .*\broot \+", shown, re.MULTILINE):
                raise Failed(f"m{machine} has its root, and is shown without:\n{shown}")
        if not fetch(network, 1, f"http://{SERVER}:{PORT}/boot.ipxe?mac=aa:bb:cc:dd:ee:ff").startswith("#!ipxe"):
            raise Failed("the boot server serves no more")
    print("PASSED")


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"FAILED: {failed}")
