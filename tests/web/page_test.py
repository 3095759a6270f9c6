#!/usr/bin/python3
"""The web page in a headless Chromium, on a whole controller with simulated agents.

Usage: page_test.py [--build FOLDER] [--shots FOLDER] [TEST…]. --shots keeps screenshots of the views
in light and dark, on a phone, and with thousands of nodes. Needs chromium and chromium-driver.
"""
import argparse
import pathlib
import ssl
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import connection_tests  # noqa: E402
import list_tests  # noqa: E402
import login_tests  # noqa: E402
import look_tests  # noqa: E402
import node_tests  # noqa: E402
import overview_tests  # noqa: E402
import work_tests  # noqa: E402
from browser import Browser  # noqa: E402
from cluster import NODES, ROOT, Cluster, check, quiet  # noqa: E402

MODULES = (login_tests, overview_tests, node_tests, work_tests, look_tests, connection_tests, list_tests)
MANY_NODES = 10_000
FIRST_VIEW_S = 1.0
FIRST_VIEW_BYTES = 300_000


def fetch(url, cookie, token, path):
    """Bytes on the wire of a compressed answer."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    request = urllib.request.Request(url + path, headers={
        "Cookie": f"__Host-muster={cookie}", "X-Muster-Page": token, "Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, context=context) as response:
        return len(response.read())


def test_many_nodes(build, shots):
    """Thousands of nodes: the first view is quick and small."""
    with Cluster(build, MANY_NODES) as cluster, Browser(width=1400, height=900) as browser:
        cluster.log_in(browser)
        cookie = next(each["value"] for each in browser.call("GET", "/cookie"))
        url = browser.run("return location.origin")
        files = browser.run("return performance.getEntriesByType('resource')"
                            ".map((e) => new URL(e.name).pathname)")
        token = browser.run("return localStorage.getItem('token')")
        size = sum(fetch(url, cookie, token, path) for path in {*files, "/"}
                   if not path.startswith(("/api/events", "/api/login")))
        browser.run("location.reload()")
        began = time.monotonic()
        browser.await_text(f"of {MANY_NODES} nodes connected")
        took = time.monotonic() - began
        print(f"   {MANY_NODES} nodes: first view in {took:.2f} s, {size} bytes")
        check(size <= FIRST_VIEW_BYTES, f"the first view takes {size} bytes")
        check(took <= FIRST_VIEW_S, f"the first view takes {took:.2f} s")
        if shots:
            browser.screenshot(shots / "many-light.png")
            browser.prefer("dark")
            time.sleep(0.3)
            browser.screenshot(shots / "many-dark.png")
        quiet(browser)


def keep_shots(cluster, shots):
    views = {"overview": "#/", "node": "#/node/c00001", "runs": "#/runs", "events": "#/events", "audit": "#/audit"}
    for size, width, height in (("wide", 1280, 800), ("phone", 390, 844)):
        for dark in (False, True):
            with Browser(width=width, height=height, dark=dark) as browser:
                cluster.log_in(browser)
                for name, route in views.items():
                    browser.run("location.hash = arguments[0]", route)
                    time.sleep(0.7)
                    browser.screenshot(shots / f"{name}-{size}-{'dark' if dark else 'light'}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--shots", type=pathlib.Path)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    if arguments.shots:
        arguments.shots.mkdir(parents=True, exist_ok=True)
    failed = []

    def attempt(name, act):
        if arguments.tests and name not in arguments.tests:
            return
        began = time.monotonic()
        try:
            act()
            print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except AssertionError as error:
            failed.append(name)
            print(f"FAILED {name}: {error}", flush=True)

    with Cluster(arguments.build, NODES) as cluster:
        for test in (test for module in MODULES for test in module.TESTS):
            attempt(test.__name__, lambda: test(cluster))
        if arguments.shots:
            keep_shots(cluster, arguments.shots)
    attempt("test_many_nodes", lambda: test_many_nodes(arguments.build, arguments.shots))
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
