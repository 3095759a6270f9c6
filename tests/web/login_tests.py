"""Who gets in, and what they may do."""
import tempfile

from browser import Browser
from cluster import NODES, check, quiet


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


TESTS = [test_login, test_login_in_another_tab, test_viewers]
