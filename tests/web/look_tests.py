"""How the page looks, and whether everybody can use it."""
import time

from browser import Browser
from cluster import check, quiet


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
        browser.await_true(lambda: browser.run("return document.activeElement.id") == "main",
                           "the focus is lost with the view")
        browser.press("/")
        check(browser.run("return document.activeElement.id") == "query", "/ does not search")
        browser.press(*"c00002", "Enter")
        browser.await_text("1 shown for c00002")
        browser.press("Enter")
        browser.await_text("Life cycle")
        quiet(browser)


def test_focus_is_seen(cluster):
    """What the keyboard is at is neither below the page's end nor under its header."""
    with Browser(width=1280, height=400) as browser:
        cluster.log_in(browser)
        browser.run("document.querySelector('.grid').style.marginTop = '2000px'")
        browser.run("document.querySelector('.grid canvas').focus({preventScroll: true}); window.scrollTo(0, 0)")
        box = """const head = document.querySelector('header').getBoundingClientRect().bottom;
                 const {top, bottom} = document.querySelector(arguments[0]).getBoundingClientRect();
                 return [head, top, bottom]"""
        browser.press("Right", "Right")
        head, top, bottom = browser.run(box, ".grid .tip")
        check(head <= top < bottom <= 400,
              f"the chosen cell's name is from {top} to {bottom}, the header ends at {head}")
        browser.run("location.hash = '#/events'")
        browser.await_text("When")
        browser.run("window.scrollTo(0, document.body.scrollHeight)")
        browser.run("document.querySelector('#kind').focus()")
        head, top, bottom = browser.run(box, "#kind")
        check(head <= top < bottom <= 400, f"the focus is from {top} to {bottom}, the header ends at {head}")
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


TESTS = [test_dark, test_keyboard, test_focus_is_seen, test_labels, test_phone]
