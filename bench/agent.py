"""What an agent costs its node while there is nothing to do, after it has rolled the node out; and beside
it what else watches nodes: Prometheus' node_exporter, and a script of forty checks every minute."""
import time

from lab import ROOT, Failed

NODE = "c001"
# Until memory is given back and systemd is done with what the rollout started.
SETTLE_S = 20
SAMPLE_S = 30
# A condition of the site's beside the agent's own, all of which are watched.
POLICY = """health:
  all:
    site_conditions:
      bad_day: {argv: [/usr/bin/test, "!", -e, /var/tmp/bad-day]}
"""
# A log of the kernel, which a lab's node does not have, and the others. They run as units, so that their
# processes can be found.
PREPARE = """mkfifo -m 600 /dev/kmsg
systemd-run --quiet --unit=bench-kmsg sh -c "exec sleep infinity 3<>/dev/kmsg"
systemd-run --quiet --unit=bench-checks bash -c 'while :; do bash /root/bench/health_checks.sh >/dev/null; sleep 60; done'
systemd-run --quiet --unit=bench-scrape bash -c 'while :; do curl -s http://127.0.0.1:9100/metrics >/dev/null; sleep 15; done'
"""
EXPORTER = "pidof prometheus-node-exporter"
CHECKS = "systemctl show -p MainPID --value bench-checks"


def prepare(lab, work):
    (lab.folder / "inventory/health.yaml").write_text(POLICY, encoding="utf-8")
    lab.muster("inventory", "apply", str(lab.folder / "inventory"))
    lab.install(NODE, "prometheus-node-exporter", "curl")
    (work / "checks").mkdir()
    (work / "checks/health_checks.sh").write_bytes((ROOT / "bench/health_checks.sh").read_bytes())
    lab.put(NODE, work / "checks", "/root/bench")
    lab.shell(NODE, PREPARE)


def measure(lab, work, minutes, figures):
    others = {}
    try:
        lab.muster("node", "bootstrap", "--ssh", f"login1,{NODE}")
        lab.muster("apply", "playbooks/site.yaml", "--yes", "--skip-validation", "--limit", f"login1,{NODE}",
                   seconds=600)
        prepare(lab, work)
        time.sleep(SETTLE_S)
        watched = {"node_exporter": EXPORTER, "forty checks": CHECKS}
        others = {name: [lab.process(NODE, pid)] for name, pid in watched.items()}
        first, started = lab.agent(NODE), time.monotonic()
        samples = [first]
        while time.monotonic() < started + minutes * 60:
            time.sleep(min(SAMPLE_S, minutes * 60))
            samples.append(lab.agent(NODE))
        seconds = time.monotonic() - started
        for name, pid in watched.items():
            others[name].append(lab.process(NODE, pid))
        last = samples[-1]
        if last["pid"] != first["pid"]:
            raise Failed("the agent was started anew meanwhile")
    except Failed as why:
        figures.miss("agent, idle", str(why))
        return
    worst = max(samples, key=lambda sample: sample["rss_mb"])
    figures.add(f"agent, idle, RSS (largest of {len(samples)} looks)", worst["rss_mb"], "MB",
                "<= 16")
    figures.add("agent, idle, RSS that is its own", worst["anon_mb"], "MB")
    figures.add("agent, idle, RSS of files, which others share", worst["file_mb"], "MB")
    figures.add(f"agent, idle, CPU over {seconds / 60:.1f} minutes",
                (last["cpu_s"] - first["cpu_s"]) / seconds * 100, "% of a core", "<= 0.2")
    figures.add("agent, idle, CPU of programs that it runs",
                (last["children_s"] - first["children_s"]) / seconds * 100, "% of a core")
    figures.add("agent, idle, times it wakes up",
                (last["switches"] - first["switches"]) / seconds, "per s")
    for name, (before, after) in others.items():
        spent = sum(after[part] - before[part] for part in ("cpu_s", "children_s"))
        figures.add(f"{name} beside it, CPU", spent / seconds * 100, "% of a core")
        figures.add(f"{name} beside it, RSS", after["rss_mb"], "MB")
