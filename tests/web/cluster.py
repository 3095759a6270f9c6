"""A whole controller with simulated agents, and what the tests of the page have in common."""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES = 9

HIDE = """
  Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));"""
FOCUS = "const e = document.activeElement; return e.dataset.key || e.id || e.tagName"


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


def tab_to(browser, what):
    for _ in range(60):
        if browser.run(FOCUS) == what:
            return
        browser.press("Tab")
    raise AssertionError(f"Tab does not reach {what}")


def no_banner(browser):
    return browser.run("return document.getElementById('banner').textContent") == ""
