"""How long a newcomer and a developer wait for the compiler, without ccache."""
import os
import pathlib
import tempfile
import time

from lab import ROOT, Failed, run

# A source near the bottom, with the test that tells of it.
CHANGED = "common/base/text/hostlist.cc"
CHANGED_TEST = "base_test"
LIMIT_S = 3 * 3600


def _timed(argv, folder, environment):
    started = time.monotonic()
    run(argv, seconds=LIMIT_S, cwd=folder, env=environment)
    return time.monotonic() - started


def measure(figures, with_ci):
    """A clone of what is committed, so that nothing built before helps."""
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as work:
        clone = pathlib.Path(work) / "muster"
        try:
            run(["git", "clone", "--quiet", str(ROOT), str(clone)])
            print("== build: what a lab installs", flush=True)
            built = _timed(["./dev", "build", "release", "lab_programs"], clone, environment)
            figures.add("build, what a lab installs, from a clone", built / 60, "min")
            print("== build: the demo after that", flush=True)
            try:
                shown = _timed(["./dev", "demo"], clone, environment)
            finally:
                run(["./dev", "lab", "down"], cwd=clone)
            figures.add("build and demo, from a clone to a job", (built + shown) / 60, "min",
                        "<= 12")
            print("== build: a changed source, to the verdict of its test", flush=True)
            run(["cmake", "--preset", "dev"], cwd=clone, env=environment)
            compile_test = ["cmake", "--build", "--preset", "dev", "--target", CHANGED_TEST]
            run(compile_test, seconds=LIMIT_S, cwd=clone, env=environment)
            with open(clone / CHANGED, "a", encoding="utf-8") as source:
                source.write("// changed\n")
            changed = _timed(compile_test, clone, environment)
            changed += _timed([f"build/dev/tests/{CHANGED_TEST}"], clone, environment)
            figures.add("build, a changed source to its test's verdict", changed, "s", "<= 15")
            if with_ci:
                print("== build: .ci/run, in what is built already", flush=True)
                run(["git", "checkout", "--quiet", "."], cwd=clone)
                checked = _timed([".ci/run"], clone, environment)
                figures.add("build and all tests, from a clone", (built + checked) / 60, "min",
                            "<= 40")
        except Failed as why:
            figures.miss("build", str(why))
