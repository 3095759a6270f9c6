"""A node's page, and what operators change there."""
import datetime
import json
import subprocess
import time

from browser import Browser
from cluster import FOCUS, answer, check, quiet, tab_to

EVENT_S = 1.0


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
        browser.await_text("c00003 is drained", "#said", seconds=170)
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


def test_late_failure(cluster):
    """A change that fails after its dialog was closed is told all the same."""
    with Browser() as browser:
        cluster.log_in(browser)
        browser.run("location.hash = '#/node/c00002'")
        browser.await_text("Life cycle")
        browser.run("""
          const before = window.fetch;
          window.fetch = (url, ...rest) => url !== '/api/node/drain' ? before(url, ...rest)
            : new Promise((yes) => setTimeout(yes, 2000, new Response('{"error": "not now"}', {status: 409})));""")
        tab_to(browser, "drain")
        browser.press("Enter", "x", "Enter", "Escape")
        browser.await_text("Drain c00002 failed: not now", "#said")
        check(browser.run("return document.getElementById('said').className") == "bad", "it looks like a success")
        browser.errors()  # none of the page's own


def readings(trouble=""):
    return {"interval": 1, "nodes": [{"node": "c00002", "connected": True, "history": [{"readings": {
        "cpu_busy_ratio": 0.5, "memory_used_bytes": 1, "memory_total_bytes": 2, "gpu_trouble": trouble,
        "gpus": [], "links": []}}]}]}


def test_readings_tell_what_is_wrong_once(cluster):
    """An alert is not told again with each reading; readings that do not come are marked as old."""
    with Browser() as browser:
        cluster.log_in(browser)
        answer(browser, "/api/readings", 200, readings("no driver"))
        browser.run("location.hash = '#/node/c00002'")
        browser.await_text("GPUs: no driver")
        browser.run("""
          window.told = 0;
          const alert = [...document.querySelectorAll('[role=alert]')]
            .find((each) => each.textContent.startsWith('GPUs'));
          const watcher = new MutationObserver((changes) => { window.told += changes.length; });
          watcher.observe(alert.closest('section').parentElement, {childList: true});
          watcher.observe(alert, {childList: true, characterData: true});""")
        answer(browser, "/api/readings", 200, readings("no driver"))
        time.sleep(3)
        check(browser.run("return window.told") == 0, "the alert is written again with each reading")
        answer(browser, "/api/readings", 503, {"error": "too busy"})
        browser.await_text("These readings are old: too busy")
        answer(browser, "/api/readings", 200, readings())
        browser.await_true(lambda: "These readings are old" not in browser.text(), "the mark stays", seconds=20)
        check("no driver" not in browser.text(), "the trouble stays")


TESTS = [test_node, test_changes_arrive, test_actions, test_late_failure, test_readings_tell_what_is_wrong_once]
