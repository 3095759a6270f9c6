#!/usr/bin/python3
"""What the initramfs of images/ram-boot makes of words that anybody in the network may have sent: its functions, by
busybox, with their files in a folder of the test."""
import hashlib
import http.server
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "images/ram-boot/etc/initramfs-tools/scripts/muster"
# What the functions that are run here take of busybox.
APPLETS = ("cat", "dd", "head", "mkdir", "rm", "sh", "sha256sum", "sleep", "timeout", "tr", "wget")
DIGEST = hashlib.sha256(b"chunk").hexdigest()
# A script that the initramfs sources as root, as seen from the folder of chunks.
SOURCED = "scripts/init-bottom/ORDER"
UP = "../../../../"


class Server(http.server.ThreadingHTTPServer):
    """Gives each path its next answer, and the last one again; "/chunk" has a chunk."""

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {path: list(lines) for path, lines in answers.items()}
        self.asked = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        answers = self.server.answers.get(self.path.partition("?")[0], ["chunk"])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer.replace("SERVER", f"127.0.0.1:{self.server.server_port}").encode())

    def log_message(self, *_):
        pass


class RamBoot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.chunks = self.root / "run/muster/image/chunks"
        for made in (self.chunks, self.root / "tools", self.root / "net/eth0", (self.root / SOURCED).parent):
            made.mkdir(parents=True)
        (self.root / SOURCED).write_text("as signed\n")
        (self.root / "net/eth0/carrier").write_text("1\n")
        (self.root / "net/eth0/address").write_text("0c:42:a1:00:12:01\n")
        for applet in APPLETS:
            (self.root / "tools" / applet).symlink_to(shutil.which("busybox"))
        script = SCRIPT.read_text()
        for path, instead in (("/run/muster", "run/muster"), ("/sys/class/net", "net"), ("/etc/muster/keys", "keys"),
                              ("/sys/firmware/efi/efivars", "efivars")):
            self.assertIn(path, script)
            script = script.replace(path, str(self.root / instead))
        (self.root / "script").write_text(script)

    def run_script(self, commands):
        """Exit status and output."""
        ran = subprocess.run(
            [self.root / "tools/sh", "-c",
             'panic() { echo "panic: $*"; exit 9; }\n. ./script\n_muster_say() { echo "$*"; }\n' + commands],
            cwd=self.root, env={"PATH": str(self.root / "tools")}, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60, check=False)
        return ran.returncode, ran.stdout

    def fetch_chunks(self, *answers):
        """Exit status, and what the server was asked for."""
        with Server({"/chunks": answers}) as server:
            code, _ = self.run_script(
                f"_muster_chunks='http://127.0.0.1:{server.server_port}/chunks?boot=1'\n_muster_fetch_chunks")
            return code, server.asked

    def words(self, *words):
        """What a signed kernel image makes of what it is told, and what it keeps for the agent."""
        with Server({"/words": ["\n".join(words)]}) as server:
            address = f"http://127.0.0.1:{server.server_port}"
            code, said = self.run_script(
                f"_muster_server={address} _muster_sha256={DIGEST}\n"
                "_muster_root='' _muster_told='' _muster_chunks='' _muster_size='' _muster_enroll=''\n_muster_ask\n"
                'echo "$_muster_root $_muster_told $_muster_chunks $_muster_size $_muster_enroll"')
        self.assertEqual(code, 0, said)
        kept = {name: value.replace(address, "SERVER") for name, value in self.kept().items()}
        return said.replace(address, "SERVER").rstrip("\n"), kept

    def kept(self):
        return {path.name: path.read_text().rstrip("\n") for path in (self.root / "run/muster/words").glob("*")}

    def test_chunks_come_as_the_server_says(self):
        code, asked = self.fetch_chunks("wait 0.1\n", f"fetch 12 {DIGEST} http://SERVER/chunk?boot=1&chunk=12\n",
                                        f"fetch 0 {DIGEST} http://SERVER/chunk\n", "whole\n")
        self.assertEqual(code, 0)
        self.assertEqual(asked, ["/chunks?boot=1", "/chunks?boot=1", "/chunk?boot=1&chunk=12",
                                 "/chunks?boot=1&had=12", "/chunk", "/chunks?boot=1&had=0"])
        self.assertEqual(sorted(path.name for path in self.chunks.iterdir()), ["0", "12"])
        self.assertEqual((self.chunks / "12").read_text(), "chunk")

    def test_nothing_is_fetched_by_words_of_another_form(self):
        chunk = "http://SERVER/chunk"
        for answer in (
                f"fetch {UP}{SOURCED} {DIGEST} {chunk}", f"fetch 0/../{UP}{SOURCED} {DIGEST} {chunk}",
                f"fetch {self.root / SOURCED} {DIGEST} {chunk}", f"fetch httpd.conf {DIGEST} {chunk}",
                f"fetch * {DIGEST} {chunk}", f"fetch -1 {DIGEST} {chunk}", f"fetch 100000 {DIGEST} {chunk}",
                f"fetch 00 {DIGEST} {chunk}", f"fetch 0 {DIGEST.upper()} {chunk}", f"fetch 0 {DIGEST[1:]} {chunk}",
                f"fetch 0 {DIGEST}0 {chunk}", f"fetch 0 {DIGEST} -O{self.root / SOURCED}",
                f"fetch 0 {DIGEST} ftp://SERVER/chunk", f"fetch 0 {DIGEST} http://", f"fetch 0 {DIGEST} {chunk}\vX",
                f"fetch 0 {DIGEST}", "fetch", "wait", "wait --help", "wait 2m", "wait 100.0", "help", ""):
            with self.subTest(answer=answer):
                code, asked = self.fetch_chunks(answer + "\n", "whole\n")
                self.assertEqual((code, asked), (1, ["/chunks?boot=1"]))
                self.assertEqual((self.root / SOURCED).read_text(), "as signed\n")
                self.assertEqual(list(self.chunks.iterdir()), [])

    def test_a_machine_is_what_the_server_says(self):
        said, kept = self.words(f"muster.root=/image/{DIGEST}/root.squashfs?boot=1", "muster.size=1000",
                                "muster.report=/report/1", f"muster.chunks=/chunks/{DIGEST}?boot=1", "muster.enroll=1",
                                "muster.install=1", "muster.node=c001", "muster.discovery=/discovery?mac=0c:42")
        self.assertEqual(said, f"SERVER/image/{DIGEST}/root.squashfs?boot=1 SERVER/report/1 "
                               f"SERVER/chunks/{DIGEST}?boot=1 1000 1")
        self.assertEqual(kept, {"muster.report": "SERVER/report/1", "muster.install": "1", "muster.node": "c001",
                                "muster.discovery": "SERVER/discovery?mac=0c:42"})

    def test_words_of_another_form_say_nothing(self):
        said, kept = self.words("muster.root=/root", "muster.root=http://elsewhere/root", "muster.root=/`reboot`",
                                "muster.report=report/1", "muster.report=/$IFS", "muster.chunks=@elsewhere/chunks",
                                'muster.chunks=/"', "muster.enroll=2", "muster.install=/", "muster.discovery=-O",
                                "muster.node=../../scripts", "muster.node=-n", "muster.node=", "muster.server=/")
        self.assertEqual((said, kept), ("SERVER/root    ", {}))
        for size in ("08", "-1", "1+1", "x[0]", "", "1" * 16):
            with self.subTest(size=size):
                self.assertEqual(self.words("muster.root=/root", f"muster.size={size}")[0], "SERVER/root    ")

    def test_a_state_partition_is_mended_and_its_faults_are_said(self):
        self.assertEqual(self.run_script("_muster_mend /dev/vda4"), (0, ""))
        e2fsck = self.root / "tools/e2fsck"
        for status in (0, 1, 2, 4, 8, 12):
            with self.subTest(status=status):
                e2fsck.write_text(f"#!{self.root}/tools/sh\necho \"$*\" >called\necho a fault\nexit {status}\n")
                e2fsck.chmod(0o755)
                code, said = self.run_script("_muster_mend /dev/vda4")
                self.assertEqual((code, "a fault" in said), (0, status >= 4))
                self.assertEqual((self.root / "called").read_text(), "-p /dev/vda4\n")

    def program(self, name, *lines):
        (self.root / "tools" / name).unlink(missing_ok=True)
        (self.root / "tools" / name).write_text("\n".join((f"#!{self.root}/tools/sh", *lines, "")))
        (self.root / "tools" / name).chmod(0o755)

    def test_a_variable_that_firmware_has_is_made_writable_first(self):
        for folder in ("keys", "efivars"):
            (self.root / folder).mkdir()
        (self.root / "keys/db.auth").write_text("ours")
        variable = self.root / "efivars/db-guid"
        variable.write_text("its maker's, and longer")
        # An immutable file, also for root. A write replaces the whole value; a variable without one would be removed.
        self.program("dd", f'[ -e "{self.root}/mutable" ] || {{ echo Operation not permitted >&2; exit 1; }}',
                     'case " $* " in *" conv=notrunc "*) ;; *) echo truncated >&2; exit 1 ;; esac',
                     f': >"{variable}"',
                     f'exec {shutil.which("busybox")} dd "$@"')
        self.assertEqual(self.run_script("_muster_give_key db guid"), (1, "db: Operation not permitted\n"))
        self.program("chattr", f'[ "$*" != "-i {variable}" ] || echo >"{self.root}/mutable"')
        self.assertEqual(self.run_script("_muster_give_key db guid"), (0, ""))
        self.assertEqual(variable.read_bytes(), b"\x27\0\0\0ours")

    def test_a_disk_says_a_name_and_nothing_else(self):
        (self.root / "run/muster/state").write_text("muster.node=../c001\nmuster.node=-e\nmuster.root=/\n")
        self.assertEqual(self.run_script("_muster_read_words run/muster/state")[0], 0)
        self.assertEqual(self.kept(), {})
        (self.root / "run/muster/state").write_text("muster.node=c001\n")
        self.run_script("_muster_read_words run/muster/state")
        self.assertEqual(self.kept(), {"muster.node": "c001"})


if __name__ == "__main__":
    unittest.main()
