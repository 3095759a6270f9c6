#!/usr/bin/python3
"""Measures Muster and prints each figure beside its target.

Usage: bench.py [--idle-minutes N] [--swarm-nodes N]… [--ci] [PART]…
   PART: peers, apt, agent, site, image, compile, validation, rollout, swarm, nic, boot, gpu or build
   (none: all but image, boot, gpu, which needs one, and build)
Exits 1 when something could not be measured; a target that is missed is a figure like any other.
"""
import argparse
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import agent
import apt
import boot
import build
import image
import nic
import peers
import site_roles
from figures import Figures
from lab import ROOT, Failed, Lab, run

PROGRAMS = ROOT / "build/release/bench"
# The part that a program belongs to; the others are the swarm's.
PART_OF = {"playbook_compile_bench": "compile", "validation_bench": "validation",
           "rollout_bench": "rollout", "gpu_flips_bench": "gpu"}
PROGRAM_PARTS = ("compile", "validation", "rollout", "swarm", "gpu")
# The last one takes as long as half of the others.
LAB_PARTS = ("peers", "apt", "agent", "site", "image")
# Measured when nothing else is said.
USUAL_PARTS = (*LAB_PARTS[:-1], "compile", "validation", "rollout", "swarm", "nic")
PARTS = (*LAB_PARTS, *PROGRAM_PARTS, "nic", "boot", "build")
ROOT_PARTS = (*LAB_PARTS, "nic", "boot", "build")
PROGRAM_SECONDS = 600
# Also a test of `./dev test`, over 1,500 seeds.
SIMULATION = ROOT / "build/release/tests/rollout_plan_test"
SIMULATED_SEEDS = 20_000


def measure_program(program, options, figures):
    print(f"== {program.name}", flush=True)
    try:
        done = subprocess.run([program, *options], cwd=ROOT, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=PROGRAM_SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        # Its first figures count all the same.
        figures.read_lines((late.stdout or b"").decode())
        figures.miss(program.name, f"no end in {PROGRAM_SECONDS} s")
        return
    count = figures.read_lines(done.stdout)
    if done.returncode != 0:
        figures.miss(program.name, " / ".join(done.stderr.strip().splitlines()[-3:]))
    elif count == 0:
        figures.miss(program.name, "it printed no figures")


def measure_programs(parts, swarm_nodes, figures):
    programs = sorted(path for path in PROGRAMS.glob("*_bench") if os.access(path, os.X_OK))
    for part in PROGRAM_PARTS:
        if part not in parts:
            continue
        mine = [path for path in programs if PART_OF.get(path.name, "swarm") == part]
        if not mine:
            figures.miss(part, f"there is no such program in {PROGRAMS}")
        for program in mine:
            options = [word for count in swarm_nodes for word in ("--nodes", str(count))]
            measure_program(program, options if part == "swarm" else [], figures)


def measure_simulation(figures):
    """The test's simulation of rollouts over many more seeds; what breaks a rule is named with its seed."""
    print(f"== {SIMULATED_SEEDS} simulated rollouts", flush=True)
    try:
        done = subprocess.run([SIMULATION, "--gtest_filter=RolloutSimulation.NeverBreaksARuleAndAlwaysEnds"],
                              cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "MUSTER_SIMULATION_SEEDS": str(SIMULATED_SEEDS)},
                              timeout=PROGRAM_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        figures.miss("simulated rollouts", f"no end in {PROGRAM_SECONDS} s")
        return
    if done.returncode != 0:
        print(done.stdout, flush=True)
        figures.miss("simulated rollouts", "a rule was broken, see above")
        return
    figures.add("simulated rollouts that broke no rule", SIMULATED_SEEDS, "seeds", f">= {SIMULATED_SEEDS}")


def measure_lab(parts, minutes, figures):
    compute = 1
    if "peers" in parts:
        compute = peers.NODES
    first_for_apt = compute + 1
    if "apt" in parts:
        compute += apt.NODES
    first_for_site = compute + 1
    if "site" in parts:
        compute += site_roles.NODES
    # One name a checkout, so that what a killed run left is removed by the next.
    name = "b" + hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
    try:
        with tempfile.TemporaryDirectory(prefix="muster-bench-") as work, Lab(name, compute) as lab:
            run([sys.executable, str(ROOT / "bench/work.py"), work])
            if "peers" in parts:
                print("== peers: 100 steps by each tool", flush=True)
                peers.measure(lab, work, figures)
            if "apt" in parts:
                print("== apt: a first install", flush=True)
                apt.measure(lab, work, first_for_apt, figures)
            if "agent" in parts:
                print(f"== agent: idle for {minutes:g} minutes", flush=True)
                agent.measure(lab, pathlib.Path(work), minutes, figures)
            if "site" in parts:
                print("== site: all roles, by Muster and by apt", flush=True)
                site_roles.measure(lab, first_for_site, figures)
            if "image" in parts:
                print("== image: a worker's, from packages to the controller", flush=True)
                image.measure(lab, figures)
    except Failed as why:
        figures.miss("the lab", str(why))


def measure_networks(parts, figures):
    for part, what, measure in (("nic", "TCP between two namespaces", nic.measure),
                                ("boot", f"one root for {boot.MACHINES} machines", boot.measure)):
        if part not in parts:
            continue
        print(f"== {part}: {what}", flush=True)
        try:
            measure(figures)
        except Failed as why:
            figures.miss(part, str(why))


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), "unknown processor")
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} processors ({model}), kernel {os.uname().release}, load {load:.1f}"


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description="Measures Muster; see "
                                     "docs/benchmarks.md.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="peers, apt, agent, site, image, "
                        "compile, validation, rollout, swarm, nic, boot, gpu or build; none: all but "
                        "image and the last three")
    parser.add_argument("--ci", action="store_true", help="with build: all tests, too")
    parser.add_argument("--idle-minutes", type=float, default=10, metavar="N",
                        help="how long the idle agent is watched (default 10)")
    parser.add_argument("--swarm-nodes", type=int, action="append", default=[], metavar="N",
                        help="how many agents the swarm has, e.g. 10000; may be given several "
                        "times (default 100 and 1000)")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part '{unknown[0]}'; there are {', '.join(PARTS)}")
    parts = arguments.parts or USUAL_PARTS
    if any(part in ROOT_PARTS for part in parts) and os.geteuid() != 0:
        parser.error("peers, apt, agent, site, image and build boot machines, nic and boot make networks: "
                     "that needs root")
    # As Ctrl-C does: the lab is taken down.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    figures = Figures()
    before = machine()
    measure_programs(parts, arguments.swarm_nodes, figures)
    if "rollout" in parts:
        measure_simulation(figures)
    measure_networks(parts, figures)
    if "build" in parts:
        build.measure(figures, arguments.ci)
    if any(part in LAB_PARTS for part in parts):
        measure_lab(parts, arguments.idle_minutes, figures)
    print(f"\nbefore: {before}\nafter:  {machine()}\n\n{figures.table()}", flush=True)
    pathlib.Path(ROOT / "build/bench").mkdir(parents=True, exist_ok=True)
    (ROOT / "build/bench/figures.tsv").write_text(figures.tsv(), encoding="utf-8")
    return 1 if figures.missing else 0


if __name__ == "__main__":
    sys.exit(main())
