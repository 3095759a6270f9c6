"""Lists that grow while somebody reads them: events and the audit log."""
from browser import Browser
from cluster import answer, check, no_banner, quiet


def page(first, last, node=None):
    """Events of numbers from `first` down to above `last`."""
    return {"events": [{"time": "2026-01-01T00:00:00Z", "kind": "node.drain", "nodes": node or f"c{i}", "subject": "",
                        "text": f"number {i}", "actor": "admin:root"} for i in range(first, last, -1)],
            "next": {"audit": last + 1, "health": 0, "boot": 0}}


# A stream in the hands of the test, and what the page is told by it when the cluster changes.
OWN_STREAM = """{
  const real = window.fetch;
  window.fetch = (url, ...rest) => url !== '/api/events' ? real(url, ...rest)
    : Promise.resolve(new Response(new ReadableStream({start(stream) { window.shared = stream; }})));
}"""
CHANGE = "window.shared.enqueue(new TextEncoder().encode('event: status\\ndata: x\\n\\n'))"


def follow_list(browser, place, path, older_path, button, rows, numbers):
    """Turns to the older rows of a list, and expects new ones above them, never with a gap between."""
    answer(browser, path, 200, rows(50, 40))
    answer(browser, older_path, 200, rows(40, 30))
    browser.run("location.hash = arguments[0]", place)
    browser.await_text("number 41")
    browser.run("""[...document.querySelectorAll('main button')]
                   .find((each) => each.textContent === arguments[0]).click()""", button)
    browser.await_text("number 31")
    for first, last, shown in [(55, 45, range(55, 30, -1)), (90, 80, range(90, 80, -1))]:
        answer(browser, path, 200, rows(first, last))
        browser.run(CHANGE)
        browser.await_text(f"number {first}")
        check(browser.run(numbers) == [*shown], f"{place} shows {browser.run(numbers)}")


def test_events_stay_whole(cluster):
    """Who has turned to older events sees newer ones come, and never a list with a gap."""
    numbers = """return [...document.querySelectorAll('tbody tr')]
                   .map((row) => Number(row.lastElementChild.textContent.split(' ').at(-1)))"""
    with Browser() as browser:
        browser.emulate("Page.addScriptToEvaluateOnNewDocument", source=OWN_STREAM)
        cluster.log_in(browser)
        follow_list(browser, "#/events", "/api/timeline", "/api/timeline?audit=41&", "Older events", page, numbers)
        quiet(browser)


def test_failures_of_lists_are_told(cluster):
    """A filter that fails is in the banner, and what another filter had found does not stand under it."""
    with Browser() as browser:
        cluster.log_in(browser)
        answer(browser, "/api/timeline", 200, page(50, 40))
        browser.run("location.hash = '#/events'")
        browser.await_text("number 41")
        check("controller" in browser.text("#kind"), "there is no kind 'controller'")
        answer(browser, "/api/timeline?kind=", 503)
        browser.run("""const kind = document.getElementById('kind');
                       kind.value = 'run'; kind.dispatchEvent(new Event('change'));""")
        browser.await_text("the server answers 503", "#banner")
        check("number 41" not in browser.text(), "events of all kinds stand under 'run'")
        answer(browser, "/api/timeline?kind=", 200, page(9, 5))
        browser.await_text("number 9")
        browser.await_true(lambda: no_banner(browser), "the banner stays")
        answer(browser, "/api/timeline?kind=run&audit=", 502)
        browser.run("[...document.querySelectorAll('main button')]"
                    ".find((each) => each.textContent === 'Older events').click()")
        browser.await_text("the server answers 502", "#banner")


def test_focus_and_scroll_stay(cluster):
    """A list that changes leaves the reader where he was."""
    place = """const row = document.activeElement.closest('tr'); return row && row.lastElementChild.textContent"""
    with Browser(width=390, height=844) as browser:
        browser.emulate("Page.addScriptToEvaluateOnNewDocument", source=OWN_STREAM)
        cluster.log_in(browser)
        events = page(50, 40, node="c1")
        for i, event in enumerate(events["events"]):
            event["time"] = f"2026-01-01T00:00:{50 - i}Z"
        answer(browser, "/api/timeline", 200, events)
        browser.run("location.hash = '#/events'")
        browser.await_text("number 41")
        browser.run("""document.querySelectorAll('tbody tr')[3].querySelector('a').focus();
                       document.querySelector('.scroll').scrollLeft = 40;""")
        scrolled = browser.run("return document.querySelector('.scroll').scrollLeft")
        check(scrolled > 0, "the table is not wider than a phone")
        check(browser.run(place) == "number 47", f"the focus is at {browser.run(place)}")
        newer = page(51, 50, node="c1")["events"] + events["events"][:-1]
        newer[0]["time"] = "2026-01-01T00:00:51Z"
        answer(browser, "/api/timeline", 200, {**events, "events": newer})
        browser.run(CHANGE)
        browser.await_text("number 51")
        check(browser.run(place) == "number 47", f"the focus has gone to {browser.run(place)}")
        check(browser.run("return document.querySelector('.scroll').scrollLeft") == scrolled,
              "the table is scrolled back")
        quiet(browser)


def test_audit_follows(cluster):
    """New entries come while the log is open, above the older ones that somebody has turned to."""
    def entries(first, last):
        return {"events": [{"sequence": i, "time": "2026-01-01T00:00:00Z", "actor": "admin:root",
                            "peer": "ipv4:10.0.0.1", "action": "node.drain", "subject": "",
                            "detail": f"number {i}"} for i in range(first, last, -1)]}

    numbers = """return [...document.querySelectorAll('tbody tr')]
                   .map((row) => Number(row.firstElementChild.textContent))"""
    with Browser() as browser:
        browser.emulate("Page.addScriptToEvaluateOnNewDocument", source=OWN_STREAM)
        cluster.log_in(browser)
        follow_list(browser, "#/audit", "/api/audit", "/api/audit?before=41", "Older entries", entries, numbers)
        check("202" in browser.run("return document.querySelector('tbody time').textContent"),
              "the log has no exact times")
        quiet(browser)


TESTS = [test_events_stay_whole, test_failures_of_lists_are_told, test_focus_and_scroll_stay, test_audit_follows]
