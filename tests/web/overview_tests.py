"""The overview: the grid, the search, and what needs attention."""
from browser import Browser
from cluster import answer, check, quiet


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


def overview(services, rows):
    """An answer of /api/overview; `rows` have a name, a place in `services`, and whether it is connected."""
    return {"racks": [], "states": ["in_service"], "services": services, "roles": ["compute"],
            "nodes": [[name, -1, 0, service, 0, connected] for name, service, connected in rows]}


def status(**fields):
    nothing = {each: [] for each in ("runs", "rollouts", "validations", "failed_runs", "health",
                                     "health_breakers", "nodes_to_reboot")}
    return {"cluster": "swarm", "slurm_gate_trouble": "", **nothing, **fields}


def test_bad_conditions_need_attention(cluster):
    """A condition that keeps no node out of Slurm is on the overview, as are breakers and reboots."""
    with Browser() as browser:
        cluster.log_in(browser)
        nodes = overview(["in service"], [("c1", 0, 1), ("c2", 0, 1), ("c3", 0, 1)])
        health = [{"condition": "disk_health", "severity": "warning", "nodes": "c[1-2]", "node_count": 2,
                   "evidence": "sda: <b>9 sectors</b>", "response": "notified", "next": "replace the disk"}]
        breaker = [{"group": "all", "max_drained": 1, "drained": 1, "waiting": ["c3"]}]
        for fields, texts in (
                ({}, ["Nothing: every node"]),
                ({"health": health}, ["disk_health", "c[1-2]", "sda: <b>9 sectors</b>", "notified: replace the disk"]),
                ({"health_breakers": breaker}, ["Breaker open", "c3", "Too many nodes of all are bad"]),
                ({"nodes_to_reboot": ["c1", "c2"]}, ["Reboot needed", "c[1-2]"])):
            browser.run("location.hash = '#/runs'")
            browser.await_text("Runs", "h1")
            answer(browser, "/api/overview", 200, nodes)
            answer(browser, "/api/status", 200, status(**fields))
            browser.run("location.hash = '#/'")
            for text in texts:
                browser.await_text(text)
            check(("Nothing: " in browser.text()) == (not fields), f"with {fields} it says {browser.text()!r}")
        quiet(browser)


def test_links_to_nodes_mean_these_alone(cluster):
    """A link to node1 does not show node10, though a search for it does."""
    with Browser() as browser:
        cluster.log_in(browser)
        browser.run("location.hash = '#/runs'")
        answer(browser, "/api/overview", 200, overview(
            ["drained by root: fan", "drained by root: disk", "in service"],
            [("node1", 0, 1), ("node10", 2, 1), ("node12", 0, 1), ("node13", 0, 1), ("node20", 1, 1)]))
        answer(browser, "/api/status", 200, status())
        browser.run("location.hash = '#/'")
        browser.await_text("node1,node[12-13]")
        browser.run("[...document.querySelectorAll('main a')]"
                    ".find((each) => each.textContent === 'node1,node[12-13]').click()")
        browser.await_text("3 shown for =node1,node[12-13]")
        browser.run("location.hash = '#/?q=node1'")
        browser.await_text("4 shown for node1")
        browser.run("location.hash = '#/?q=node1,!=node1'")
        browser.await_text("3 shown for")
        quiet(browser)


TESTS = [test_grid, test_down_in_slurm, test_bad_conditions_need_attention, test_links_to_nodes_mean_these_alone]
