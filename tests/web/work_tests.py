"""Runs and validations."""
import contextlib
import pathlib
import subprocess
import tempfile
import time

from browser import Browser
from cluster import check, quiet

PLAYS, STEPS = 100, 200  # of the run that is watched


@contextlib.contextmanager
def long_run(cluster):
    """A run of many steps that is started in the background."""
    with tempfile.TemporaryDirectory() as site:
        playbooks = pathlib.Path(site, "playbooks")
        role = playbooks / "roles/busy/tasks"
        role.mkdir(parents=True)
        (playbooks / "long.yaml").write_text(
            "".join(f"- play: number {i}\n  hosts: compute\n  roles: [busy]\n" for i in range(PLAYS)))
        (role / "main.yaml").write_text("".join(
            f"- name: step {i}\n  file: {{path: /tmp/{i}, content: x}}\n" for i in range(STEPS)))
        process = subprocess.Popen(cluster.command("apply", playbooks / "long.yaml", "--yes",
                                                   "--limit", "c[00001-00003]"),
                                   cwd=site, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            yield process
        finally:
            process.communicate()


def test_heat_map(cluster):
    """What a validation measured between nodes, as a picture, and in words for who cannot see it."""
    with Browser() as browser:
        cluster.log_in(browser)
        browser.run("location.hash = '#/validation/v-measured'")
        browser.await_text("Show what was measured between nodes")
        browser.run("[...document.querySelectorAll('button')]"
                    ".find((each) => each.textContent.startsWith('Show what')).click()")
        canvas = "document.querySelector('canvas[role=img]')"
        browser.await_true(lambda: browser.run(f"return {canvas} !== null"), "there is no heat map")
        label = browser.run(f"return {canvas}.getAttribute('aria-label')")
        check(label == "nic-pair: throughput: 30 pairs, from 11.5 to 24.1 GB/s", f"the map is {label!r}")
        # Two cells of one column: the slow row is of another color than its neighbor.
        colors = browser.run(f"""
          const canvas = {canvas}, side = canvas.width / 6;
          const column = canvas.getContext('2d').getImageData(4.5 * side, 0, 1, 2 * side).data;
          return [0.5, 1.5].map((row) => [...column.slice(4 * Math.floor(row * side)).slice(0, 4)].join());""")
        check(colors[0] != colors[1], f"slow and fast pairs look the same: {colors}")
        browser.run(f"""
          const box = {canvas}.getBoundingClientRect(), side = box.width / 6;
          {canvas}.dispatchEvent(new MouseEvent('mousemove', {{clientX: box.left + 4.5 * side, clientY: box.top + 1.5 * side, bubbles: true}}));""")
        browser.await_text("c00002 → c00005: 11.5 GB/s")
        quiet(browser)


def test_live_run(cluster):
    """A run appears, changes and ends on the page without a reload."""
    with Browser() as browser:
        cluster.log_in(browser)
        browser.await_text("Nothing is running")
        browser.run("window.isSamePage = true")
        with long_run(cluster) as process:
            try:
                browser.await_text("playbooks/long.yaml", seconds=30)
            except AssertionError:
                raise AssertionError(f"no run: {process.communicate()[0][-800:]}") from None
            browser.run("[...document.querySelectorAll('main a')]"
                        ".find((a) => a.textContent.includes('long.yaml')).click()")
            browser.await_text("Progress")
            seen, plays = set(), set()
            end = time.monotonic() + 60
            while time.monotonic() < end and "succeeded" not in browser.text(".head"):
                seen.add(browser.text("tbody"))
                plays.add(browser.text("dd"))
                time.sleep(0.1)
            print(f"   the run's page showed {len(plays)} plays and {len(seen)} states of its nodes")
            check(len(seen) > 4 and len(plays) > 2, "the run's page did not follow the run")
        browser.await_text("succeeded", ".head")
        check(str(PLAYS * STEPS) in browser.text("tbody"), "the run's page does not count all steps")
        check(browser.run("return window.isSamePage"), "the page was loaded again")
        quiet(browser)


TESTS = [test_heat_map, test_live_run]
