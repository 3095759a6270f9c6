#!/usr/bin/python3
"""The programs of the role jupyterhub, without JupyterHub and Slurm: what users may ask for, how jobs are
submitted and read, and when a server's port is told."""
import asyncio
import importlib.util
import os
import pathlib
import pwd
import shlex
import socket
import subprocess
import sys
import tempfile
import types
import unittest

FILES = pathlib.Path(__file__).resolve().parents[3] / "playbooks" / "roles" / "jupyterhub" / "files"


class Trait:
    """A variable with a default."""

    def __init__(self, *args, help=""):
        self.value = next((arg for arg in args if not isinstance(arg, Trait)), [])

    def tag(self, **_):
        return self

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return self.value if instance is None else instance.__dict__.get(self.name, self.value)

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value


class Spawner:
    """As much of JupyterHub's as ours calls."""

    cmd, user_options = ["/usr/local/lib/muster/jupyter-server"], {}

    def __init__(self):
        self.user = types.SimpleNamespace(name=pwd.getpwuid(os.getuid()).pw_name)
        self.log = types.SimpleNamespace(warning=lambda *_: None)

    def get_args(self):
        return ["jupyterhub-singleuser", "--a b"]

    def get_env(self):
        return {"JUPYTERHUB_API_TOKEN": "token"}

    def get_state(self):
        return {}

    def load_state(self, state):
        pass

    def clear_state(self):
        pass


def load():
    hub, traits = types.ModuleType("jupyterhub.spawner"), types.ModuleType("traitlets")
    hub.Spawner = Spawner
    traits.Integer = traits.List = traits.Unicode = Trait
    traits.default = lambda _: lambda method: method
    sys.modules.update({"jupyterhub": types.ModuleType("jupyterhub"), "jupyterhub.spawner": hub,
                        "traitlets": traits})
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("muster_spawner", FILES / "muster_spawner.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


spawner = load()


class FakeSlurm(spawner.SlurmSpawner):
    """Answers in the place of Slurm's programs."""

    def __init__(self, answers=()):
        super().__init__()
        self.partitions, self.most_gpus = ["batch", "gpu"], 4
        self.calls, self.answers = [], list(answers)

    async def slurm(self, *argv, stdin="", env=None):
        self.calls.append((argv, stdin, env))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class SpawnerTest(unittest.TestCase):
    def test_users_get_what_they_may_ask_for(self):
        server = FakeSlurm()
        self.assertEqual(server.asked(), ["--time=60", "--partition=batch"])
        server.user_options = {"partition": "gpu", "gpus": "2", "hours": 8}
        self.assertEqual(server.asked(), ["--time=480", "--gres=gpu:2", "--partition=gpu"])
        server.user_options = {"partition": None}
        self.assertEqual(server.asked(), ["--time=60", "--partition=batch"])
        server.partitions, server.user_options = [], {}
        self.assertEqual(server.asked(), ["--time=60"])

    def test_nothing_else_reaches_sbatch(self):
        for options in ({"gpus": 5}, {"gpus": -1}, {"gpus": "1,gpu:x:9"}, {"hours": 0}, {"hours": 9},
                        {"hours": "1:00"}, {"hours": True}, {"partition": "other"},
                        {"partition": "gpu --uid=0"}, {"account": "physics"}):
            server = FakeSlurm()
            server.user_options = options
            with self.subTest(options=options), self.assertRaises(spawner.Refused):
                server.asked()

    def test_rows_of_squeue(self):
        job = spawner.job_of
        self.assertEqual(job("RUNNING|c001|None|jupyter:40123").port, 40123)
        self.assertEqual(job("PENDING|n/a|Resources|").reason, "Resources")
        self.assertEqual(job("SUSPENDED|c001|None|jupyter:40123").node, "c001")
        for comment in ("jupyter:22", "jupyter:99999", "jupyter:40123 ", "mine", "jupyter:40123|x"):
            self.assertIsNone(job(f"RUNNING|c001|None|{comment}").port, comment)
        self.assertIsNone(job("COMPLETING|c001|None|jupyter:40123"))
        self.assertIsNone(job(""))

    def test_a_server_is_a_job_and_its_token_no_argument(self):
        server = FakeSlurm(["", "17;cluster\n", "PENDING|n/a|Priority|\n", "RUNNING|c001|None|\n",
                            "RUNNING|c001|None|jupyter:40123\nRUNNING|login1|None|jupyter:40124\n"])
        self.assertEqual(asyncio.run(server.start()), ("c001", 40123))
        self.assertEqual(server.get_state(), {"job": 17})
        submitted, script, env = server.calls[1]
        self.assertEqual(submitted[0], "sbatch")
        self.assertNotIn("token", " ".join(submitted) + script)
        self.assertEqual(env["JUPYTERHUB_API_TOKEN"], "token")
        self.assertEqual(shlex.split(script.splitlines()[1]),
                         ["exec", "/usr/local/lib/muster/jupyter-server", "jupyterhub-singleuser", "--a b"])

    def test_one_that_ends_at_once_is_an_error(self):
        server = FakeSlurm(["", "17\n", "COMPLETING|c001|None|\n"])
        with self.assertRaisesRegex(spawner.Refused, "ended before it was up"):
            asyncio.run(server.start())

    def test_slurms_silence_ends_no_server(self):
        silent = spawner.Refused("squeue: Unable to contact slurm controller")
        gone = spawner.Refused("squeue: slurm_load_jobs error: Invalid job id specified")
        server = FakeSlurm([silent, gone, "RUNNING|c001|None|jupyter:40123\n", ""])
        self.assertEqual(asyncio.run(server.poll()), 0)  # none was ever started
        server.load_state({"job": 17})
        self.assertEqual([asyncio.run(server.poll()) for _ in range(4)], [None, 0, None, 0])


class ServerTest(unittest.TestCase):
    """jupyter-server with a server that listens late, and a scontrol that notes whether it does."""

    LISTENER = """
import os, socket, sys, time, urllib.parse
url = urllib.parse.urlparse(os.environ["JUPYTERHUB_SERVICE_URL"])
time.sleep(0.5)
with socket.create_server((url.hostname, url.port)) as server:
    server.settimeout(10)
    server.accept()
sys.exit(7)
"""
    SCONTROL = """#!/bin/bash
echo "$*" >"$(dirname "$0")/said"
exec 3<>"/dev/tcp/127.0.0.1/${3##*:}" && echo open >>"$(dirname "$0")/said"
"""

    def run_server(self, program):
        with tempfile.TemporaryDirectory() as folder:
            scontrol = pathlib.Path(folder) / "scontrol"
            scontrol.write_text(self.SCONTROL)
            scontrol.chmod(0o755)
            ran = subprocess.run(
                [sys.executable, FILES / "jupyter-server", sys.executable, "-c", program], timeout=30,
                env={"PATH": f"{folder}:/usr/bin:/bin", "SLURM_JOB_ID": "17", "SLURMD_NODENAME": "127.0.0.1"},
                check=False)
            said = pathlib.Path(folder) / "said"
            return ran.returncode, said.read_text().splitlines() if said.exists() else []

    def test_the_port_is_told_when_the_server_listens(self):
        code, said = self.run_server(self.LISTENER)
        self.assertEqual(code, 7)
        self.assertRegex(said[0], "^update JobId=17 Comment=jupyter:[0-9]+$")
        self.assertEqual(said[1], "open")

    def test_a_server_that_ends_tells_nothing(self):
        self.assertEqual(self.run_server("raise SystemExit(3)"), (3, []))


if __name__ == "__main__":
    unittest.main()
