#!/usr/bin/python3
"""What the hook of images/ram-boot adds to an initramfs. A folder stands for the initramfs, and files beside it for the
programs of the root."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "images/ram-boot/etc/initramfs-tools"
FUNCTIONS = """manual_add_modules() { :; }
copy_exec() { mkdir -p "$DESTDIR$(dirname "${2:-$1}")" && cp "$1" "$DESTDIR${2:-$1}"; }
"""
# What the busybox of Ubuntu's initramfs lacks, with klibc's dd beside it.
LACKING = {"head", "httpd", "sha256sum", "timeout"}

APPLETS = set("awk basename blkid cat chmod cp cut date dd du find grep head httpd ip kill ls mkdir mount mv nc "
              "printf readlink reboot rm sed sha256sum sleep sort stat tail timeout tr uniq wc wget xargs".split())
# Every shell, and every initramfs, has these.
SHELLS = {"kill"}


class RamBootHook(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.initramfs = self.root / "initramfs"
        (self.initramfs / "bin").mkdir(parents=True)
        (self.initramfs / "sbin").mkdir()
        (self.root / "functions").write_text(FUNCTIONS)
        hook = (FOLDER / "hooks/muster").read_text()
        self.needed = set(re.search(r"for program in (basename [^;]*);", hook)[1].replace("\\\n", "").split())
        for path, instead in (("/usr/share/initramfs-tools/hook-functions", "functions"), ("/bin/busybox ", "busybox "),
                              ("/sbin/e2fsck", "e2fsck"), ("/usr/bin/chattr", "chattr"), ("/lib/*/", "lib/")):
            self.assertIn(path, hook)
            hook = hook.replace(path, f"{self.root}/{instead}")
        (self.root / "hook").write_text(hook)

    def have(self, programs):
        for program in programs:
            (self.initramfs / "bin" / program).write_text("of the initramfs")

    def package_busybox(self, programs):
        busybox = self.root / "busybox"
        busybox.write_text("#!/bin/sh\nprintf '%s\\n' " + " ".join(sorted(programs)) + "\n")
        busybox.chmod(0o755)

    def run_hook(self):
        return subprocess.run(["/bin/sh", self.root / "hook"], env={**os.environ, "DESTDIR": str(self.initramfs)},
                              capture_output=True, text=True, timeout=60, check=False)

    def links(self):
        return {path.name: os.readlink(path) for path in (self.initramfs / "bin").iterdir() if path.is_symlink()}

    def test_every_program_of_the_script_is_looked_for(self):
        script = re.sub(r"(?m)(^|\s)#.*$", "", (FOLDER / "scripts/muster").read_text())
        used = {each for each in APPLETS if re.search(rf"(?m)(^|[|;&({{!]|timeout \d+|while|if|until) *{each}\s", script)}
        self.assertEqual(used - SHELLS, self.needed)

    def test_an_initramfs_that_has_all_programs_stays_as_it_is(self):
        self.have(self.needed - {"httpd"})
        (self.initramfs / "sbin/httpd").write_text("of the initramfs")
        self.package_busybox(self.needed)
        self.assertEqual(self.run_hook().returncode, 0)
        self.assertEqual(self.links(), {})
        self.assertFalse((self.initramfs / "bin/muster-busybox").exists())

    def test_what_the_busybox_of_an_initramfs_lacks_is_of_the_package(self):
        self.assertLess(LACKING, self.needed)
        self.have(self.needed - LACKING)
        self.package_busybox(self.needed)
        ran = self.run_hook()
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(self.links(), {name: "muster-busybox" for name in LACKING})
        self.assertEqual((self.initramfs / "bin/muster-busybox").read_text(), (self.root / "busybox").read_text())
        self.assertEqual((self.initramfs / "bin/wget").read_text(), "of the initramfs")

    def test_a_program_that_nothing_has_is_named_with_its_package(self):
        self.have(self.needed - {"sha256sum"})
        for package in (None, self.needed - {"sha256sum"}):
            with self.subTest(package=package):
                if package is not None:
                    self.package_busybox(package)
                ran = self.run_hook()
                self.assertEqual(ran.returncode, 1)
                self.assertIn("has no sha256sum; add the package busybox", ran.stderr)


if __name__ == "__main__":
    unittest.main()
