# Written by Muster; changes made here are lost.
"""JupyterHub's servers as jobs of Slurm, each submitted as the user whose server it is.

The job starts jupyter-server on a worker, which tells in the job's comment on which port the server
listens. Nothing here is passed through a shell, and no secret is an argument: the server's token is in the
job's environment.
"""
import asyncio
import collections
import html
import os
import pwd
import re
import shlex

from jupyterhub.spawner import Spawner
from traitlets import Integer, List, Unicode, default

JOB_NAME = "muster-jupyter"
Job = collections.namedtuple("Job", "state node port reason")


class Refused(Exception):
    """What the user is told."""

    def __init__(self, message):
        super().__init__(message)
        self.jupyterhub_message = message


def job_of(row):
    """The job in squeue's row of "state|node|reason|comment", or None if it has ended. Its user writes the
    comment, which may say anything and comes last."""
    state, node, reason, comment = (row.split("|", 3) + [""] * 4)[:4]
    # Any other state that squeue lists without being asked is one of a job that lives.
    if state in ("", "COMPLETING"):
        return None
    said = re.fullmatch("jupyter:([0-9]{4,5})", comment)
    port = int(said[1]) if said and 1024 <= int(said[1]) <= 65535 else None
    return Job(state, node, port, reason)


class SlurmSpawner(Spawner):
    partitions = List(Unicode(), help="What users choose from; empty: Slurm's default.").tag(config=True)
    most_gpus = Integer(0, help="GPUs that a user may ask for.").tag(config=True)
    most_hours = Integer(8, help="Hours that a user may ask for.").tag(config=True)
    cpus = Integer(1, help="Processors of a server.").tag(config=True)
    memory = Unicode("4G", help="Memory of a server, as sbatch writes it.").tag(config=True)
    sbatch_options = List(Unicode(), help="Further options of sbatch.").tag(config=True)

    job = Integer(0, help="The job's number; 0: none.")

    # ---- What the user asks for

    async def get_options_form(self):
        def choice(name, label, values):
            options = "".join(f"<option>{html.escape(str(value))}</option>" for value in values)
            return (f'<label for="{name}">{label}</label>'
                    f'<select name="{name}" id="{name}" class="form-control">{options}</select>')

        fields = [choice("partition", "Partition", self.partitions)] if self.partitions else []
        if self.most_gpus:
            fields.append(choice("gpus", "GPUs", range(self.most_gpus + 1)))
        fields.append(choice("hours", "Hours", range(1, self.most_hours + 1)))
        return "\n".join(fields)

    @default("options_from_form")
    def _options_from_form(self):
        return lambda form: {name: values[0] for name, values in form.items()
                             if name in ("partition", "gpus", "hours")}

    def asked(self):
        """The options of sbatch for what the user asks for, which may come from the form or from anybody
        with a token of the user's."""
        options = self.user_options or {}
        unknown = set(options) - {"partition", "gpus", "hours"}
        if unknown:
            raise Refused(f"unknown options {', '.join(sorted(unknown))}: use partition, gpus and hours")

        def number(name, least, most):
            text = str(options.get(name, least))
            if not re.fullmatch("[0-9]{1,6}", text) or not least <= int(text) <= most:
                raise Refused(f"'{text}' {name}: from {least} to {most} are allowed")
            return int(text)

        argv = [f"--time={number('hours', 1, self.most_hours) * 60}"]
        gpus = number("gpus", 0, self.most_gpus)
        if gpus:
            argv.append(f"--gres=gpu:{gpus}")
        partition = options.get("partition") or (self.partitions[0] if self.partitions else None)
        if partition:
            if partition not in self.partitions:
                raise Refused(f"partition '{partition}': allowed are {', '.join(self.partitions) or 'none'}")
            argv.append(f"--partition={partition}")
        return argv

    # ---- Slurm

    async def slurm(self, *argv, stdin="", env=None):
        """What a program of Slurm prints, run as the user."""
        account = pwd.getpwnam(self.user.name)
        path = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        process = await asyncio.create_subprocess_exec(
            *argv, env=env or path, cwd="/", umask=0o022, user=account.pw_uid, group=account.pw_gid,
            extra_groups=os.getgrouplist(account.pw_name, account.pw_gid),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        try:
            out, err = await asyncio.wait_for(process.communicate(stdin.encode()), 60)
        except asyncio.TimeoutError:
            process.kill()
            raise Refused(f"{argv[0]} has not answered within a minute") from None
        if process.returncode != 0:
            raise Refused(f"{argv[0]}: {err.decode(errors='replace').strip()}")
        return out.decode(errors="replace")

    async def look(self):
        """The job, or None once it has ended."""
        try:
            listing = await self.slurm("squeue", "--noheader", f"--jobs={self.job}", "--format=%T|%B|%r|%k")
        except Refused as error:
            if "Invalid job id" in str(error):  # it ended a while ago
                return None
            raise
        return job_of((listing.splitlines() or [""])[0])

    # ---- What JupyterHub asks for

    async def start(self):
        account = pwd.getpwnam(self.user.name)
        argv = self.asked() + self.sbatch_options
        env = dict(self.get_env(), HOME=account.pw_dir, USER=account.pw_name, LOGNAME=account.pw_name,
                   SHELL=account.pw_shell)
        # One whose JupyterHub was restarted before it was up.
        await self.slurm("scancel", f"--user={self.user.name}", f"--name={JOB_NAME}")
        said = await self.slurm(
            "sbatch", "--parsable", f"--job-name={JOB_NAME}", "--nodes=1", "--ntasks=1", "--no-requeue",
            f"--cpus-per-task={self.cpus}", f"--mem={self.memory}", f"--chdir={account.pw_dir}",
            "--output=.jupyter-server.log", "--open-mode=truncate", "--export=ALL", "--propagate=NONE",
            *argv, env=env, stdin=f"#!/bin/bash -l\nexec {shlex.join(self.cmd + self.get_args())}\n")
        self.job = int(said.split(";")[0])
        pause = 0.5
        while True:
            job = await self.look()
            if job is None:
                raise Refused("the server has ended before it was up; ~/.jupyter-server.log says why")
            if job.port:
                return job.node, job.port
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 10)

    async def poll(self):
        if not self.job:
            return 0
        try:
            return 0 if await self.look() is None else None
        except Refused as error:  # Slurm is silent, and jobs go on
            self.log.warning("job %s of %s: %s", self.job, self.user.name, error)
            return None

    async def stop(self, now=False):
        if not self.job:
            return
        await self.slurm("scancel", str(self.job))
        for _ in range(60):
            if await self.poll() is not None:
                return
            await asyncio.sleep(1)

    async def progress(self):
        while not self.job:
            await asyncio.sleep(0.5)
        while True:
            try:
                job = await self.look()
            except Refused:
                return
            if job is None or job.port:
                return
            why = f" ({job.reason})" if job.state == "PENDING" else ""
            yield {"message": f"Job {self.job} is {job.state.lower()}{why}"}
            await asyncio.sleep(5)

    def get_state(self):
        return dict(super().get_state(), job=self.job)

    def load_state(self, state):
        super().load_state(state)
        self.job = state.get("job", 0)

    def clear_state(self):
        super().clear_state()
        self.job = 0
