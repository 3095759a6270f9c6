"""What a rolling update costs beside the work itself: the time between the end of one part of a node's
update and the begin of the next, from the records of one rollout over nodes without jobs."""
import json
import re
from datetime import datetime

from lab import Failed


# The shipped site, with a suite that is short and nevertheless admits.
SITE = "/root/update-site"
COPY = f"""mkdir -p {SITE}
cp -a /usr/share/muster/playbooks {SITE}/
sed -i '1,/^name:/ s/^name:/admits: true\\n&/' {SITE}/playbooks/suites/quick.yaml"""


def measure(lab, nodes, figures):
    """`nodes` serve in Slurm, without jobs and without a pass, so that each is validated."""
    try:
        lab.shell("login1", COPY)
        said = lab.timed("login1", "muster", "update", f"{SITE}/playbooks/site.yaml", "--yes", "--limit",
                         ",".join(nodes), "--canary", "0", "--max-unavailable", "1", "--suite",
                         "quick").output
        rollout = record(lab, "rollout", re.search(r"\bu-[a-z0-9]{8}\b", said)[0])
        waits = {"drained until its run began": [], "its run until the validation began": [],
                 "passed until it was given back": []}
        for node in rollout["nodes"]:
            came = {event["step"]: at(event["time"]) for event in rollout["events"]
                    if event.get("node") == node["node"] and "step" in event}
            run = record(lab, "run", node["run_id"])["run"]
            validation = record(lab, "validate", node["validation_id"])
            waits["drained until its run began"].append(at(run["created_at"]) - came["applying"])
            waits["its run until the validation began"].append(
                at(validation["created_at"]) - at(run["finished_at"]))
            waits["passed until it was given back"].append(
                came["resuming"] - at(validation["finished_at"]))
    except (Failed, KeyError, TypeError) as why:
        figures.miss("update of a node", repr(why))
        return
    for name, seconds in waits.items():
        figures.add(f"update of a node, {name}, longest of {len(seconds)}", max(seconds), "s", "<= 1")


def record(lab, noun, name):
    return json.loads(lab.muster("-o", "json", noun, "show", name))


def at(time):
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()
