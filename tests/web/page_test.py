#!/usr/bin/python3
"""The web page in a headless Chromium, on a whole controller with simulated agents.

Usage: page_test.py [--build FOLDER] [--shots FOLDER] [TEST…]. --shots keeps screenshots of the views
in light and dark, on a phone, and with thousands of nodes. Needs chromium and chromium-driver.
"""
import argparse
import contextlib
import datetime
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import Browser  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES = 9
MANY_NODES = 10_000
FIRST_VIEW_S = 1.0
FIRST_VIEW_BYTES = 300_000
EVENT_S = 1.0
PLAYS, STEPS = 100, 200  # of the run that is watched


class Cluster:
    """musterd with simulated agents. Use it with `with`."""

    def __init__(self, build, nodes):
        self.muster_program = build / "bin/muster"
        self.process = subprocess.Popen(
            [build / "tests/web_cluster", build / "bin/musterd", self.muster_program, ROOT,
             str(nodes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            raise SystemExit("web_cluster did not start")
        self.folder = pathlib.Path(line.split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def command(self, *arguments, credentials=None):
        credentials = credentials or self.folder / "etc/admin"
        return [self.muster_program, "--config", credentials, *arguments]

    def muster(self, *arguments, credentials=None):
        return subprocess.run(self.command(*arguments, credentials=credentials), check=True,
                              capture_output=True, text=True).stdout

    def link(self, credentials=None):
        return self.muster("web", "login", credentials=credentials).splitlines()[0]

    def viewer(self, name, folder):
        """The credentials of a new person."""
        credentials = pathlib.Path(folder, name)
        self.muster("user", "create", name, "--role", "viewer", "--out", credentials)
        return credentials

    def log_in(self, browser):
        browser.open(self.link())
        browser.await_text("nodes connected")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def quiet(browser):
    errors = browser.errors()
    check(not errors, f"the console says: {errors}")


def test_login(cluster):
    """A link works once; a session is a cookie that scripts cannot read, and a token; logout ends it."""
    with Browser() as browser:
        link = cluster.link()
        browser.open(link)
        browser.await_text(f"{NODES - 1} of {NODES} nodes connected")
        check("login" not in browser.run("return location.href"), "the link stays in the address bar")
        check(browser.run("return document.cookie") == "", "a script can read the cookie")
        browser.run("location.reload()")
        browser.await_text("nodes connected")
        quiet(browser)
        browser.click("#logout")
        browser.await_text("You are logged out")
        browser.open(link)
        browser.await_text("was used or has expired")
        cluster.log_in(browser)
        browser.run("localStorage.removeItem('token'); location.reload()")
        browser.await_text("Log in to Muster")
        browser.errors()  # the refusals of the link, and of a cookie without its token


def test_login_in_another_tab(cluster):
    """A tab never acts for a person whose name it does not show."""
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        cluster.log_in(browser)
        first = browser.call("GET", "/window")
        before = browser.text("#person")
        browser.call("POST", "/window", {"handle": browser.call("POST", "/window/new", {"type": "tab"})["handle"]})
        browser.open(cluster.link(cluster.viewer("vera", folder)))
        browser.await_text("vera", "#person")
        browser.call("POST", "/window", {"handle": first})
        check("vera" not in before, "the first login was not another person's")
        browser.await_text("vera", "#person")


def test_grid(cluster):
    """Every node is on the grid; search and legend narrow it; a click opens the node."""
    with Browser() as browser:
        cluster.log_in(browser)
        for text in ("In service", "Quarantined", "Unreachable", "Drained", "Needs attention"):
            check(text in browser.text(), f"the overview does not say {text!r}")
        browser.click('.legend button[data-key="quarantined"]')
        browser.await_text("1 shown for is:quarantined")
        browser.run("location.hash = '#/?q=' + encodeURIComponent('c[00001-00003]')")
        browser.await_text("3 shown for")
        browser.run("location.hash = '#/'")
        browser.run("""
          const canvas = document.querySelector('.grid canvas'), box = canvas.getBoundingClientRect();
          for (let y = 4; y < box.height; y += 6) for (let x = 4; x < box.width; x += 6) {
            const at = {clientX: box.left + x, clientY: box.top + y, bubbles: true};
            canvas.dispatchEvent(new MouseEvent('mousemove', at));
            if (canvas.classList.contains('over')) return canvas.dispatchEvent(new MouseEvent('click', at));
          }""")
        browser.await_true(lambda: browser.run("return location.hash").startswith("#/node/"),
                           "a click on a cell opens no node")
        quiet(browser)


def test_node(cluster):
    """A node's page shows what is known, and hostile texts as texts."""
    with Browser() as browser:
        cluster.log_in(browser)
        held = json.loads(cluster.muster("-o", "json", "node", "list"))["nodes"]
        name = next(node["name"] for node in held if node["holds"])
        browser.run("location.hash = '#/node/' + arguments[0]", name)
        browser.await_text("Held by admin:root: <b>bad fan</b>")
        browser.await_text("compute")
        check(browser.run("return document.querySelectorAll('main b b, main img').length") == 0,
              "a text became markup")
        name = next(node["name"] for node in held if node["connected"] and node["role"] == "compute")
        browser.run("location.hash = '#/node/' + arguments[0]", name)
        browser.await_text("12.5 GB/s")
        check(browser.run("return document.querySelectorAll('table[aria-label=\"GPUs now\"] tbody tr').length") == 8,
              "the GPUs' readings are not on the page")
        check(browser.run("return document.querySelectorAll('svg.spark[aria-label]').length") > 20,
              "readings have no lines")
        browser.run("location.hash = '#/node/nobody'")
        browser.await_text("no node 'nobody'")
        browser.errors()  # the 404
        browser.run("location.hash = '#/nothing'")
        browser.await_text("There is no such page")


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


def test_changes_arrive(cluster):
    """A drain shows on the open page within a second."""
    with Browser() as browser:
        cluster.log_in(browser)
        name = json.loads(cluster.muster("-o", "json", "node", "list"))["nodes"][1]["name"]
        browser.run("location.hash = '#/node/' + arguments[0]", name)
        browser.await_text("Life cycle")
        held = browser.run("""const a = document.querySelector('main a'); a?.focus();
                              return a?.getAttribute('href')""")
        # Without waiting for the command, which waits for Slurm.
        drain = subprocess.Popen(cluster.command("node", "drain", name, "--reason", "page test"),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        browser.await_text("page test", seconds=10)
        shown_at = datetime.datetime.now(datetime.timezone.utc)
        check(browser.run("return document.activeElement.getAttribute('href')") == held,
              "the page takes the focus away when it changes")
        drain.kill()
        drain.wait()
        events = json.loads(cluster.muster("-o", "json", "audit", "list"))["events"]
        drained = next(event["time"] for event in events if event["subject"] == name)
        took = (shown_at - datetime.datetime.fromisoformat(drained.replace("Z", "+00:00"))).total_seconds()
        print(f"   a drain was on the page {took:.2f} s after it was stored")
        check(took <= EVENT_S, f"a drain took {took:.2f} s to the page")


def test_dark(cluster):
    """The system's choice counts until somebody chooses here, which a reload keeps."""
    with Browser(dark=True) as browser:
        cluster.log_in(browser)
        is_dark = "return document.documentElement.classList.contains('dark')"
        check(browser.run(is_dark), "not dark though the system is")
        browser.prefer("light")
        browser.await_true(lambda: not browser.run(is_dark), "dark though the system is not any more")
        browser.click("#theme")
        browser.run("location.reload()")
        browser.await_text("nodes connected")
        check(browser.run(is_dark), "the choice does not outlive a reload")
        quiet(browser)


def test_keyboard(cluster):
    """Everything is reached without a mouse, and what has the focus can be seen."""
    with Browser() as browser:
        cluster.log_in(browser)
        focused = ("const e = document.activeElement; "
                   "return [e.id || e.className || e.tagName, getComputedStyle(e).outlineStyle]")
        seen = []
        for _ in range(20):
            browser.press("Tab")
            what, outline = browser.run(focused)
            seen.append(what)
            check(outline != "none" or what in ("query", "BODY"), f"no focus to be seen on {what}")
        for what in ("skip", "query", "theme", "logout", "CANVAS"):
            check(what in seen, f"Tab does not reach {what}: {seen}")
        browser.run("document.querySelector('.grid canvas').focus()")
        browser.press("Right", "Right", "Down", "Left", "Home")
        check(browser.text("[aria-live]") != "", "the grid says nothing to a screen reader")
        browser.press("Enter")
        browser.await_true(lambda: browser.run("return location.hash").startswith("#/node/"),
                           "Enter opens no node")
        browser.press("/")
        check(browser.run("return document.activeElement.id") == "query", "/ does not search")
        browser.press(*"c00002", "Enter")
        browser.await_text("1 shown for c00002")
        browser.press("Enter")
        browser.await_text("Life cycle")
        quiet(browser)


FOCUS = "const e = document.activeElement; return e.dataset.key || e.id || e.tagName"


def tab_to(browser, what):
    for _ in range(60):
        if browser.run(FOCUS) == what:
            return
        browser.press("Tab")
    raise AssertionError(f"Tab does not reach {what}")


def test_actions(cluster):
    """Operators drain and resume by the keyboard alone; the events and the audit log have it."""
    with Browser() as browser:
        cluster.log_in(browser)
        browser.run("location.hash = '#/node/c00003'")
        browser.await_text("Life cycle")
        tab_to(browser, "drain")
        browser.press("Enter")
        browser.await_text("Slurm gives it no more jobs", "dialog")
        check(browser.run(FOCUS) == "ask-reason", "the dialog does not begin with the reason")
        browser.press("Enter")
        check(browser.run("return document.querySelector('dialog').open"), "a drain without a reason")
        browser.press("Escape")
        browser.await_true(lambda: not browser.run("return document.querySelector('dialog')"),
                           "Escape does not close the dialog")
        check(browser.run(FOCUS) == "drain", "the focus is lost when the dialog is closed")
        browser.press("Enter", *"<b>fans</b>", "Enter")
        # The call waits for a Slurm that does not answer; what it has stored is on the page already.
        browser.await_text("<b>fans</b>")
        browser.await_text("node.drain")
        browser.await_text("Slurm may take half a minute", "dialog")
        browser.run("location.hash = '#/node/c00002'")
        browser.await_true(lambda: browser.text("h1") == "c00002", "a slow action holds the page up")
        browser.run("location.hash = '#/node/c00003'")
        browser.await_text("c00003 is drained", "#said", seconds=90)
        browser.await_text("<b>fans</b>")
        check(browser.run("return document.querySelectorAll('main td b b').length") == 0,
              "a reason became markup")
        tab_to(browser, "resume")
        browser.press("Enter")
        browser.await_text("Ends the drains", "dialog")
        browser.press("Enter")
        browser.await_text("node.resume")
        events = json.loads(cluster.muster("-o", "json", "event", "list", "c00003", "--kind", "node"))
        said = [(event["kind"], event["text"]) for event in reversed(events["events"])][-2:]
        check(said[0] == ("node.drain", "<b>fans</b>") and said[1][0] == "node.resume", f"{said}")
        browser.run("location.hash = '#/events'")
        browser.await_text("node.drain")
        quiet(browser)


def test_viewers(cluster):
    """Viewers see what happens, and no button that changes anything."""
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        browser.open(cluster.link(cluster.viewer("victor", folder)))
        browser.await_text("nodes connected")
        browser.run("location.hash = '#/node/c00003'")
        browser.await_text("Life cycle")
        browser.await_text("Events")
        check(browser.run("return document.querySelectorAll('main [data-key]').length") == 0,
              "a viewer has a button")
        quiet(browser)


def test_labels(cluster):
    """Everything that can be used has a name, and texts have enough contrast."""
    script = """
      const name = (e) => e.getAttribute('aria-label') || e.textContent.trim() || e.title;
      const bare = [...document.querySelectorAll('a, button, select, input:not([id^=ask-]), canvas[tabindex]')]
        .filter((e) => e.offsetParent && !name(e)).map((e) => e.outerHTML);
      const channel = (v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
      const light = (rgb) => { const [r, g, b] = rgb.match(/[\\d.]+/g).map(Number);
        return .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b); };
      const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
        if (!/, 0\\)$|transparent/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
      const faint = [];
      for (const e of document.querySelectorAll('body *')) {
        if (!e.offsetParent || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
        const contrast = (a + .05) / (b + .05);
        if (contrast < 4.5) faint.push(`${e.textContent.trim().slice(0, 30)}: ${contrast.toFixed(2)}`);
      }
      return {bare, faint};"""
    for dark in (False, True):
        with Browser(dark=dark) as browser:
            cluster.log_in(browser)
            for route in ("#/", "#/node/c00001", "#/runs", "#/rollouts", "#/validations", "#/events", "#/audit",
                          "#/node/c00002"):
                browser.run("location.hash = arguments[0]", route)
                time.sleep(0.5)
                if route == "#/node/c00002":
                    browser.click('[data-key="drain"]')  # and with the dialog open
                found = browser.run(script)
                check(not found["bare"], f"{route}: without a name: {found['bare']}")
                check(not found["faint"], f"{route}, dark={dark}: too little contrast: {found['faint']}")
                check(browser.run("return document.querySelectorAll('h1').length") == 1,
                      f"{route}: not one heading")
            quiet(browser)


def test_phone(cluster):
    """Nothing is wider than a phone."""
    with Browser(width=390, height=844) as browser:
        cluster.log_in(browser)
        for route in ("#/", "#/node/c00001", "#/runs", "#/events", "#/audit"):
            browser.run("location.hash = arguments[0]", route)
            time.sleep(0.5)
            width = browser.run("return document.documentElement.scrollWidth")
            check(width <= 390, f"{route} is {width} pixels wide")


def test_reconnects(cluster):
    """A controller that goes away is a banner, and everything is right when it is back."""
    with Browser() as browser:
        cluster.log_in(browser)
        # As the network would: the browser itself is cut off.
        browser.emulate("Network.enable")
        browser.emulate("Network.emulateNetworkConditions", offline=True, latency=0,
                        downloadThroughput=-1, uploadThroughput=-1)
        browser.run("location.hash = '#/runs'")
        browser.await_text("Connection lost", "#banner")
        browser.emulate("Network.emulateNetworkConditions", offline=False, latency=0,
                        downloadThroughput=-1, uploadThroughput=-1)
        browser.await_true(lambda: browser.run("return document.getElementById('banner').hidden"),
                           "the banner stays", seconds=30)
        browser.await_text("Playbook")


def answer(browser, path, status, body=None):
    """Has the page read this at paths that begin so, as if the controller, or a proxy, had said it."""
    browser.run("""
      const [path, status, text] = arguments;
      const before = window.fetch;
      window.realFetch ??= before;
      window.fetch = (url, ...rest) =>
        url.startsWith(path) ? Promise.resolve(new Response(text, {status})) : before(url, ...rest);
      """, path, status, "" if body is None else json.dumps(body))


def answer_truly(browser):
    """Ends all that answer() has begun."""
    browser.run("window.fetch = window.realFetch")


def test_down_in_slurm(cluster):
    """Nodes that Slurm keeps from jobs by itself, or for a person, are not shown in service."""
    services = ["in service", "taken down by root: fan", "in service, but DOWN*",
                "in service; Slurm has not been told yet", "rebooted: its facts are not known yet"]
    in_service, configured, connected = 0, 1, 1
    rows = [("c1", in_service, 0), ("c2", in_service, 1), ("c3", in_service, 2),
            ("c4", in_service, 3), ("c5", in_service, 4), ("c6", in_service, -1), ("c7", configured, 1)]
    with Browser() as browser:
        cluster.log_in(browser)
        browser.run("location.hash = '#/runs'")
        answer(browser, "/api/overview", 200, {
            "racks": [], "states": ["in_service", "configured"], "services": services,
            "roles": ["compute"],
            "nodes": [[name, -1, state, service, 0, connected] for name, state, service in rows]})
        browser.run("location.hash = '#/'")
        browser.await_text("7 of 7 nodes connected")
        counts = browser.run("""return Object.fromEntries([...document.querySelectorAll('.legend button')]
          .map((button) => [button.dataset.key, Number(button.querySelector('b').textContent)]))""")
        check(counts == {"down": 3, "drained": 1, "in_service": 3}, f"the legend counts {counts}")
        for text in ("taken down by root: fan", "in service, but DOWN*"):
            check(text in browser.text(), f"nothing says {text!r}")
        browser.click('.legend button[data-key="down"]')
        browser.await_text("3 shown for is:down")
        quiet(browser)


def test_refusals(cluster):
    """A call that is refused for the moment is made again, and the view stays."""
    with Browser() as browser:
        cluster.log_in(browser)
        for status in (429, 502):
            answer(browser, "/api/runs", status)
            browser.run("location.hash = '#/runs'")
            browser.await_text(f"the server answers {status}", "#banner")
            check(browser.text("h1") == "Runs", f"{status} takes the view away")
            answer_truly(browser)
            browser.await_true(lambda: any(text in browser.text() for text in ("Playbook", "No run yet")),
                               f"the view does not come back after {status}")
            check(browser.run("return document.getElementById('banner').hidden"), "the banner stays")
            browser.run("location.hash = '#/'")
            browser.await_text("nodes connected")
        browser.run("location.hash = '#/nothing'")
        browser.await_text("There is no such page")


def test_start_is_tried_again(cluster):
    """A page that is opened while the controller is away begins when it is back."""
    with Browser() as browser:
        cluster.log_in(browser)
        browser.emulate("Page.addScriptToEvaluateOnNewDocument", source="""{
          const real = window.fetch;
          let left = 1;
          window.fetch = (...all) => (left-- > 0 ? Promise.reject(new TypeError('away')) : real(...all));
        }""")
        browser.run("location.reload()")
        browser.await_text("Connection lost", "#banner")
        browser.await_text("nodes connected")
        check(browser.run("return document.getElementById('banner').hidden"), "the banner stays")
        quiet(browser)


def test_refused_stream(cluster):
    """A stream of events that is refused is asked for again later, and not after its page was left."""
    running = {"validation": {
        "validation_id": "v-refused", "suite": "full", "state": "running", "created_by": "admin:root",
        "created_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "nodes": [], "rings": [], "blames": []}}
    asked = "return window.asked"
    with Browser() as browser:
        cluster.log_in(browser)
        answer(browser, "/api/validation", 200, running)
        browser.run("""
          window.asked = 0;
          const before = window.fetch;
          window.fetch = (url, ...rest) => {
            if (!url.startsWith('/api/events/validation?')) return before(url, ...rest);
            ++window.asked;
            return before('/api/events/nowhere', ...rest);
          };""")
        browser.run("location.hash = '#/validation/v-refused'")
        browser.await_text("Suite full")
        browser.await_true(lambda: browser.run(asked) == 1, "the page does not listen")
        time.sleep(3)
        check(browser.run(asked) == 1, f"a refused stream is asked for {browser.run(asked)} times at once")
        browser.await_true(lambda: browser.run(asked) == 2, "a refused stream is given up")
        browser.run("location.hash = '#/runs'")
        browser.await_text("Runs", "h1")
        time.sleep(6)
        check(browser.run(asked) == 2, "a page that was left still asks for its stream")


HIDE = """
  Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));"""


def test_hidden(cluster):
    """A page that nobody sees leaves its connections to the others, and catches up when it is seen."""
    count = "return window.streams.filter((signal) => !signal.aborted).length"
    with Browser() as browser:
        cluster.log_in(browser)
        browser.run("""
          window.streams = [];
          const before = window.fetch;
          window.fetch = (url, ...rest) => {
            if (url.startsWith('/api/events')) window.streams.push(rest[0].signal);
            return before(url, ...rest);
          };""")
        for _ in range(2):
            browser.run(HIDE, True)
            check(browser.run(count) == 0, "a hidden page has streams")
            answer(browser, "/api/overview", 503)
            browser.run(HIDE, False)
            check(browser.run(count) == 1, "a page that is seen again has no stream")
            browser.await_text("the server answers 503", "#banner")
            answer_truly(browser)
            browser.await_true(lambda: browser.run("return document.getElementById('banner').hidden"),
                               "the page does not catch up")


def test_errors_of_the_page_are_told(cluster):
    """An error of the page itself is in the console, and is not taken for a lost connection."""
    with Browser() as browser:
        cluster.log_in(browser)
        quiet(browser)
        browser.run(HIDE, True)
        browser.run("""
          window.asked = 0;
          const before = window.fetch;
          window.fetch = (url, ...rest) => { window.asked += url === '/api/events'; return before(url, ...rest); };
          Object.defineProperty(document.getElementById('banner'), 'hidden',
                                {set() { throw new TypeError('a broken listener'); }});""")
        browser.run(HIDE, False)
        browser.await_true(lambda: any("a broken listener" in error for error in browser.errors()),
                           "the console says nothing of the error")
        time.sleep(3)
        check(browser.run("return window.asked") == 1, "the stream was asked for again")


def test_events_stay_whole(cluster):
    """Who has turned to older events sees newer ones come, and never a list with a gap."""
    def page(first, last):
        return {"events": [{"time": "2026-01-01T00:00:00Z", "kind": "node.drain", "nodes": f"c{i}", "subject": "",
                            "text": f"number {i}", "actor": "admin:root"} for i in range(first, last, -1)],
                "next": {"audit": last + 1, "health": 0, "boot": 0}}

    numbers = """return [...document.querySelectorAll('tbody tr')]
                   .map((row) => Number(row.lastElementChild.textContent.split(' ').at(-1)))"""
    # What the page is told when the cluster changes.
    change = "window.shared.enqueue(new TextEncoder().encode('event: status\\ndata: x\\n\\n'))"
    with Browser() as browser:
        browser.emulate("Page.addScriptToEvaluateOnNewDocument", source="""{
          const real = window.fetch;
          window.fetch = (url, ...rest) => url !== '/api/events' ? real(url, ...rest)
            : Promise.resolve(new Response(new ReadableStream({start(stream) { window.shared = stream; }})));
        }""")
        cluster.log_in(browser)
        answer(browser, "/api/timeline", 200, page(50, 40))
        answer(browser, "/api/timeline?audit=41&", 200, page(40, 30))
        browser.run("location.hash = '#/events'")
        browser.await_text("number 41")
        browser.run("[...document.querySelectorAll('main button')]"
                    ".find((each) => each.textContent === 'Older events').click()")
        browser.await_text("number 31")
        answer(browser, "/api/timeline", 200, page(55, 45))
        browser.run(change)
        browser.await_text("number 55")
        check(browser.run(numbers) == [*range(55, 30, -1)], f"the list is {browser.run(numbers)}")
        answer(browser, "/api/timeline", 200, page(90, 80))
        browser.run(change)
        browser.await_text("number 90")
        check(browser.run(numbers) == [*range(90, 80, -1)], f"the list is {browser.run(numbers)}")
        quiet(browser)


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


TESTS = [test_login, test_login_in_another_tab, test_grid, test_node, test_heat_map, test_live_run, test_changes_arrive,
         test_dark, test_keyboard, test_actions, test_viewers, test_labels, test_phone, test_reconnects,
         test_down_in_slurm, test_refusals, test_start_is_tried_again, test_refused_stream, test_hidden,
         test_errors_of_the_page_are_told, test_events_stay_whole]


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
        for test in TESTS:
            attempt(test.__name__, lambda: test(cluster))
        if arguments.shots:
            keep_shots(cluster, arguments.shots)
    attempt("test_many_nodes", lambda: test_many_nodes(arguments.build, arguments.shots))
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
