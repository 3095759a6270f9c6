"""A headless Chromium by the W3C WebDriver protocol, with the standard library alone."""
import base64
import json
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014",
        "Down": "\ue015", "Home": "\ue011", "Escape": "\ue00c"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """A window of a browser of its own. Use it with `with`."""

    def __init__(self, width=1280, height=860, dark=False):
        self.port = free_port()
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.session = None
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--force-color-profile=srgb",
                     f"--window-size={width},{height}"]
        capabilities = {"alwaysMatch": {
            "acceptInsecureCerts": True, "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments}}}
        self.await_true(self.answers, "chromedriver does not answer")
        self.session = self.call("POST", "/session", {"capabilities": capabilities})["sessionId"]
        self.emulate("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)
        self.prefer("dark" if dark else "light")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.session:
            self.call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()

    def answers(self):
        try:
            return self.call("GET", "/status")["ready"]
        except OSError:
            return False

    def call(self, method, path, body=None):
        base = f"http://127.0.0.1:{self.port}"
        if self.session:
            base += f"/session/{self.session}"
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["value"]

    def emulate(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def prefer(self, scheme):
        """What the system says of light and dark."""
        self.emulate("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.call("POST", "/element",
                         {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        """Finds it anew if the page has replaced it meanwhile."""
        for is_last in (False, False, True):
            try:
                return self.call("POST", f"/element/{self.find(selector)}/click")
            except urllib.error.HTTPError:
                if is_last:
                    raise

    def press(self, *keys):
        """Keys by name, or characters, to whatever has the focus."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def text(self, selector="main"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def await_true(self, check, what, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if check():
                return
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds} s: {what}")

    def await_text(self, text, selector="main", seconds=15):
        try:
            self.await_true(lambda: text in self.text(selector), repr(text), seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; {selector} says: {self.text(selector)[:600]!r}") from None

    def errors(self):
        """What the browser's console complains of since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("GET", "/screenshot")))
