"""The shipped worker's image: its build beside mmdebstrap alone with the same packages, and another build
after one role has changed. Packages come from the lab's cache, which has them by then."""
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import time

from lab import ROOT, Failed, run

IMAGE = "debian-worker"
USER = "muster-bench"
SECONDS = 900
# As tests of the lab do it: in the lab's network, knowing its names, without anybody else's rights.
AS_USER = """mount --bind "$1" /etc/hosts
exec nsenter --net="$2" -- runuser -u "$3" -- env HOME="$4" TMPDIR=/var/tmp "${@:5}" """


class Builder:
    """An ordinary user with a site of their own."""

    def __init__(self, lab, home):
        self.lab = lab
        self.home = pathlib.Path(home)
        for folder in ("images", "playbooks"):
            shutil.copytree(ROOT / folder, self.home / "site" / folder, symlinks=True)
        shutil.copytree(lab.folder / "admin", self.home / "admin")
        run(["chown", "-R", f"{USER}:", home])
        gateway = re.search(r"^([\d.]+)\.\d+ login1$", (lab.folder / "hosts").read_text(), re.M)[1]
        self.proxy = f"http://{gateway}.1:3142"

    def timed(self, *argv):
        """Seconds, and what it said."""
        begin = time.monotonic()
        said = run(["unshare", "--mount", "--propagation", "slave", "--", "bash", "-ec", AS_USER, "bash",
                    str(self.lab.folder / "hosts"), f"/run/netns/muster-{self.lab.name}", USER,
                    str(self.home), "env", f"MUSTER_CONFIG_DIR={self.home}/admin", *argv], SECONDS)
        return time.monotonic() - begin, said

    def build(self, *options):
        return self.timed(str(ROOT / "build/release/bin/muster"), "image", "build", IMAGE, "--site",
                          str(self.home / "site"), "--proxy", self.proxy, *options)[0]


def measure(lab, figures):
    try:
        pwd.getpwnam(USER)
    except KeyError:
        subprocess.run(["useradd", "--no-create-home", USER], check=True)
    try:
        with tempfile.TemporaryDirectory(prefix="muster-bench-image-", dir="/var/tmp") as home:
            os.chmod(home, 0o755)
            build_images(Builder(lab, home), lab, figures)
    except Failed as why:
        figures.miss("image", str(why))
    finally:
        subprocess.run(["userdel", USER], check=False)


def build_images(builder, lab, figures):
    builder.build()  # fills the cache of packages
    whole = builder.build("--fresh")
    manifest = json.loads(lab.muster("image", "show", IMAGE, "-o", "json"))["manifest"]
    names = [package["name"] for package in manifest["packages"] if package["name"] != "muster-agent"]
    alone, _ = builder.timed(
        "mmdebstrap", "--mode=unshare", "--variant=apt", "--format=squashfs",
        f'--aptopt=Acquire::http::Proxy "{builder.proxy}"', f"--include={','.join(names)}", "bookworm",
        str(builder.home / "alone.squashfs"))
    definition = builder.home / f"site/images/{IMAGE}/image.yaml"
    text = definition.read_text()
    again = {}
    for role, variable in (("last", "slurm_gpu_wait_seconds: 121"), ("first", "base_nofile: 4321")):
        definition.write_text(text.replace("variables:\n", f"variables:\n  {variable}\n"))
        again[role] = builder.build()
    size = sum(int(artifact["size_bytes"]) for artifact in manifest["artifacts"])
    figures.add(f"image {IMAGE}, {len(names)} packages, mmdebstrap and mksquashfs alone", alone, "s")
    figures.add(f"image {IMAGE}, muster image build", whole, "s", "<= 90")
    figures.add(f"image {IMAGE}, muster / mmdebstrap", whole / alone, "times")
    figures.add(f"image {IMAGE}, after a change of the last role", again["last"], "s", "<= 20")
    figures.add(f"image {IMAGE}, after a change of the first role", again["first"], "s")
    figures.add(f"image {IMAGE}, all artifacts", size / 1e6, "MB", "<= 350")
