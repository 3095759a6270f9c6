"""What an agent costs its node while there is nothing to do, after it has rolled the node out."""
import time

from lab import Failed

NODE = "c001"
# Until memory is given back and systemd is done with what the rollout started.
SETTLE_S = 20
SAMPLE_S = 30


def measure(lab, minutes, figures):
    try:
        lab.muster("node", "bootstrap", "--ssh", f"login1,{NODE}")
        lab.muster("apply", "playbooks/site.yaml", "--yes", "--skip-validation", "--limit", f"login1,{NODE}",
                   seconds=600)
        time.sleep(SETTLE_S)
        first, started = lab.agent(NODE), time.monotonic()
        samples = [first]
        while time.monotonic() < started + minutes * 60:
            time.sleep(min(SAMPLE_S, minutes * 60))
            samples.append(lab.agent(NODE))
        seconds = time.monotonic() - started
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
    figures.add("agent, idle, times it wakes up",
                (last["switches"] - first["switches"]) / seconds, "per s")
