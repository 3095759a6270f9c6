"""Machines that boot from a real musterd, in network namespaces whose links are limited.

The machines run what their initramfs runs: the functions of images/ram-boot, by busybox.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from lab import ROOT, Failed, run

SCRIPT = ROOT / "images/ram-boot/etc/initramfs-tools/scripts/muster"
PROGRAMS = ROOT / "build/release/bin"
# What the initramfs has of busybox.
APPLETS = ("cat", "du", "head", "httpd", "mkdir", "mount", "mv", "rm", "sed", "sh", "sha256sum", "sleep", "timeout",
           "wget")
SERVER = "10.214.0.1"
ROUTER = "10.214.255.254"
PORT = 7483
CALLS = 7443
START_SECONDS = 30
# Prints the root's digest; its arguments are the words of the kernel's command line, and perhaps patience=SECONDS.
MACHINE = """
mount -t tmpfs -o mode=0755 run /run
mkdir -p /run/muster/image
panic() { echo "$*"; exit 1; }
. "$SCRIPT"
_muster_say() { echo "$*"; }
for word; do
  case $word in
    muster.root=*) _muster_root=${word#*=} ;;
    muster.chunks=*) _muster_chunks=${word#*=} ;;
    muster.size=*) _muster_size=${word#*=} ;;
    muster.report=*) _muster_told=${word#*=} ;;
    patience=*) _muster_patience=${word#*=} ;;
  esac
done
_muster_check_memory
_muster_fetch_from_peers /run/muster/image/root || _muster_fetch "$_muster_root" /run/muster/image/root
sha256sum </run/muster/image/root
"""


class BootNetwork:
    """A musterd and `machines` machines, each with a link of `rate` to the others; a context manager."""

    def __init__(self, folder, machines, rate):
        self.folder = pathlib.Path(folder)
        self.count = machines
        self.rate = rate
        self.router = f"mboot{os.getpid()}r"
        self.names = [f"mboot{os.getpid()}n{i}" for i in range(machines + 1)]  # 0: musterd's
        self.musterd = None

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.__exit__)
            self._connect()
            self._start_controller()
            undo.pop_all()
        return self

    def __exit__(self, *_):
        if self.musterd is not None:
            self.musterd.kill()
            self.musterd.wait()
        for name in (*self.names, self.router):
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def _connect(self):
        # A router, because a switch would fill the kernel's table of neighbors, of which all namespaces have one.
        run(["ip", "netns", "add", self.router])
        run(["ip", "netns", "exec", self.router, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"])
        for i, name in enumerate(self.names):
            run(["ip", "netns", "add", name])
            run(["ip", "link", "add", "eth0", "netns", name, "type", "veth",
                 "peer", "name", f"p{i}", "netns", self.router])
            for namespace, device, own, others in ((name, "eth0", self.address(i), "0.0.0.0/0"),
                                                   (self.router, f"p{i}", ROUTER, self.address(i))):
                run(["ip", "-n", namespace, "addr", "add", f"{own}/32", "dev", device])
                run(["ip", "-n", namespace, "link", "set", device, "up"])
                run(["ip", "-n", namespace, "route", "add", others, "dev", device,
                     *(("via", ROUTER, "onlink") if namespace == name else ())])
                run(["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf",
                     "rate", self.rate, "burst", "64kb", "latency", "100ms"])
            run(["ip", "-n", name, "link", "set", "lo", "up"])

    @staticmethod
    def address(machine):
        return f"10.214.0.{machine + 1}"

    @staticmethod
    def _mac(machine):
        return f"52:54:00:14:00:{machine:02x}"

    def inside(self, machine, *argv):
        return ["ip", "netns", "exec", self.names[machine], *map(str, argv)]

    def muster(self, *argv):
        return run(self.inside(0, PROGRAMS / "muster", "--config", self.folder / "etc/admin", *argv))

    def _start_controller(self):
        run(self.inside(0, PROGRAMS / "muster", "--config", self.folder / "etc/admin", "init", "--cluster", "boot",
                        "--controller", f"localhost:{CALLS}", "--directory", self.folder / "etc"))
        (self.folder / "packages").mkdir()
        (self.folder / "etc/controller.yaml").write_text(
            f"cluster: boot\ncontroller_address: localhost:{CALLS}\nlisten: 127.0.0.1:{CALLS}\n"
            "enrollment_listen: 127.0.0.1:0\npackage_listen: 127.0.0.1:0\nmetrics_listen: 127.0.0.1:0\n"
            f"web_listen: 127.0.0.1:0\nboot_listen: {SERVER}:{PORT}\npki_directory: {self.folder}/etc/pki\n"
            f"state_directory: {self.folder}/state\npackage_directory: {self.folder}/packages\n")
        with open(self.folder / "musterd.log", "w", encoding="utf-8") as log:
            self.musterd = subprocess.Popen(
                self.inside(0, PROGRAMS / "musterd", "--config", self.folder / "etc/controller.yaml"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run(self.inside(0, PROGRAMS / "muster", "--config", self.folder / "etc/admin", "status"),
                             check=False, capture_output=True).returncode != 0:
            if time.monotonic() > deadline or self.musterd.poll() is not None:
                raise Failed((self.folder / "musterd.log").read_text())
            time.sleep(0.2)

    def keep_root(self, mib):
        """An image whose root has so many MiB; its digest."""
        folder = self.folder / f"image-{mib}"
        folder.mkdir()
        artifacts = []
        for name, content in (("files", b"files"), ("initrd", b"initrd"), ("kernel", b"kernel"),
                              ("root.squashfs", os.urandom(mib << 20))):
            (folder / name).write_bytes(content)
            artifacts.append({"name": name, "sha256": hashlib.sha256(content).hexdigest(),
                              "size_bytes": str(len(content))})
        (folder / "manifest.json").write_text(json.dumps({
            "name": "worker", "kind": "ram", "distribution": "debian12", "architecture": "amd64",
            "artifacts": artifacts}))
        self.muster("image", "import", folder)
        shutil.rmtree(folder)
        return artifacts[-1]["sha256"]

    def describe(self, peers):
        """Has the machines boot the newest image, with others as sources or without."""
        inventory = self.folder / "inventory"
        inventory.mkdir(exist_ok=True)
        nodes = "".join(f"  m{i}: {{role: compute, mac: \"{self._mac(i)}\"}}\n" for i in range(1, self.count + 1))
        (inventory / "boot.yaml").write_text(
            f"cluster: boot\nnodes:\n{nodes}vars: {{boot: worker, boot_peers: {str(peers).lower()}}}\n")
        self.muster("inventory", "apply", inventory)

    def words(self, machine):
        """The kernel's command line of a boot that begins."""
        fetched = run(self.inside(machine, "busybox", "wget", "-q", "-O", "-",
                                  f"http://{SERVER}:{PORT}/boot.ipxe?mac={self._mac(machine)}"))
        return re.findall(r"muster\.[a-z0-9]+=\S+", fetched)

    def start(self, machine, words):
        """A machine that fetches its root; a process that prints the digest."""
        tools = self.folder / "tools"
        if not tools.exists():
            tools.mkdir()
            for applet in APPLETS:
                (tools / applet).symlink_to(shutil.which("busybox"))
        return subprocess.Popen(
            self.inside(machine, "unshare", "--mount", "--pid", "--fork", "--kill-child", "env", "-i",
                        f"PATH={tools}", f"SCRIPT={SCRIPT}", tools / "sh", "-c", MACHINE, "machine", *words),
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def sent(self):
        """MiB that musterd's link has carried to the others so far."""
        path = "/sys/class/net/eth0/statistics/tx_bytes"
        return int(run(self.inside(0, "cat", path))) / (1 << 20)
