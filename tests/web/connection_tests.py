"""What the page does when the controller is away, refuses, or says nothing."""
import datetime
import time

from browser import Browser
from cluster import HIDE, answer, answer_truly, check, no_banner, quiet


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
        browser.await_true(lambda: no_banner(browser),
                           "the banner stays", seconds=30)
        browser.await_text("Playbook")


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
            check(no_banner(browser), "the banner stays")
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
        check(no_banner(browser), "the banner stays")
        quiet(browser)


def running(validation, suite="full"):
    return {"validation": {
        "validation_id": validation, "suite": suite, "state": "running", "created_by": "admin:root",
        "created_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "nodes": [], "rings": [], "blames": []}}


def test_refused_stream(cluster):
    """A stream of events that is refused is asked for again later, and not after its page was left."""
    asked = "return window.asked"
    with Browser() as browser:
        cluster.log_in(browser)
        answer(browser, "/api/validation", 200, running("v-refused"))
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
            browser.await_true(lambda: no_banner(browser),
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
          Object.defineProperty(document.getElementById('banner'), 'textContent',
                                {set() { throw new TypeError('a broken listener'); }});""")
        browser.run(HIDE, False)
        browser.await_true(lambda: any("a broken listener" in error for error in browser.errors()),
                           "the console says nothing of the error")
        time.sleep(3)
        check(browser.run("return window.asked") == 1, "the stream was asked for again")


def on_every_page(browser, script):
    browser.emulate("Page.addScriptToEvaluateOnNewDocument", source=f"{{{script}}}")


def test_silent_stream(cluster):
    """A stream that says nothing for long, as after a laptop's sleep, is lost, and is opened again."""
    with Browser() as browser:
        on_every_page(browser, """
          const real = window.fetch, later = window.setTimeout;
          window.opened = 0;
          window.setTimeout = (act, ms, ...rest) => later(act, ms === 40000 ? 1000 : ms, ...rest);
          window.fetch = (url, ...rest) => url !== '/api/events' ? real(url, ...rest)
            : Promise.resolve(new Response(new ReadableStream({start(stream) {
                ++window.opened;
                rest[0].signal.addEventListener('abort', () => stream.error(rest[0].signal.reason)); }})));""")
        cluster.log_in(browser)
        browser.await_text("Connection lost", "#banner")
        browser.await_true(lambda: browser.run("return window.opened") > 1, "the stream is not opened again")


def test_silent_call(cluster):
    """A call that is never answered is given up, and made again."""
    with Browser() as browser:
        on_every_page(browser, """
          const real = AbortSignal.timeout;
          AbortSignal.timeout = (ms) => real.call(AbortSignal, ms === 30000 ? 1000 : ms);""")
        cluster.log_in(browser)
        browser.run("""
          const before = window.fetch;
          let left = 1;
          window.fetch = (url, ...rest) => url !== '/api/runs' || left-- <= 0 ? before(url, ...rest)
            : new Promise((_, no) => rest[0].signal.addEventListener('abort', () => no(rest[0].signal.reason)));""")
        browser.run("location.hash = '#/runs'")
        browser.await_text("Connection lost", "#banner")
        browser.await_true(lambda: no_banner(browser), "the call is not made again")
        check(any(text in browser.text() for text in ("Playbook", "No run yet")), "the view is empty")


def test_one_stream(cluster):
    """A browser has six connections for all its windows: a page that follows some work has one."""
    alive = "return window.streams.filter(({signal}) => !signal.aborted).map(({url}) => url)"
    with Browser() as browser:
        on_every_page(browser, """
          const real = window.fetch;
          window.streams = [];
          window.fetch = (url, ...rest) => {
            if (!url.startsWith('/api/events')) return real(url, ...rest);
            window.streams.push({url, signal: rest[0].signal});
            return Promise.resolve(new Response(new ReadableStream({start(stream) { window.stream = stream; }})));
          };""")
        cluster.log_in(browser)
        answer(browser, "/api/validation?", 200, running("v-long"))
        browser.run("location.hash = '#/validation/v-long'")
        browser.await_text("Suite full")
        browser.await_true(lambda: browser.run(alive) == ["/api/events/validation?id=v-long"],
                           "the page has not one stream, of its validation")
        answer(browser, "/api/validation?", 200, running("v-long", suite="short"))
        # Which the same stream tells of.
        browser.run("window.stream.enqueue(new TextEncoder().encode('event: status\\ndata: x\\n\\n'))")
        browser.await_text("Suite short")
        browser.run("location.hash = '#/runs'")
        browser.await_text("Runs", "h1")
        check(browser.run(alive) == ["/api/events"], f"another view has {browser.run(alive)}")


def test_banner_is_seen(cluster):
    """What is wrong is said where the reader is, however far the page is scrolled."""
    with Browser(width=390, height=844) as browser:
        cluster.log_in(browser)
        browser.run("location.hash = '#/audit'")
        browser.await_text("web.login")
        browser.run("document.querySelector('main').style.minHeight = '4000px'; window.scrollTo(0, 3000)")
        answer(browser, "/api/audit", 503)
        browser.run("window.dispatchEvent(new HashChangeEvent('hashchange'))")
        browser.await_text("the server answers 503", "#banner")
        browser.run("window.scrollTo(0, 3000)")
        top, bottom = browser.run("""
          const box = document.getElementById('banner').getBoundingClientRect(); return [box.top, box.bottom]""")
        check(0 <= top < bottom <= 844, f"the banner is from {top} to {bottom}")


TESTS = [test_reconnects, test_refusals, test_start_is_tried_again, test_refused_stream, test_hidden,
         test_errors_of_the_page_are_told, test_silent_stream, test_silent_call, test_one_stream, test_banner_is_seen]
