#!/usr/bin/python3
"""The expressions of Grafana's dashboards, for promtool and Prometheus to judge.

   dashboards.py check FILE…      exits 1, naming file and panel, where one is not as Grafana reads it
   dashboards.py rules FILE…      a file of recording rules with every expression
   dashboards.py metrics FILE…    the names of all metrics, a line each
"""
import json
import re
import sys

KINDS = {"stat", "timeseries", "table", "gauge", "barchart", "text"}
FUNCTIONS = {"sum", "avg", "max", "min", "count", "rate", "increase", "time", "vector", "by", "on", "or", "and",
             "unless", "label_values", "offset", "without", "ignoring", "group_left", "topk", "scalar"}
LABELS = re.compile(r"\{[^}]*\}|\b(?:by|on|without|ignoring)\s*\([^)]*\)|\[[^\]]*\]|\"[^\"]*\"")


def problems(dashboard):
    for field, kind in (("uid", str), ("title", str), ("schemaVersion", int), ("panels", list),
                        ("templating", dict), ("time", dict)):
        if not isinstance(dashboard.get(field), kind):
            yield f"no {field}"
    taken = set()
    for panel in dashboard.get("panels", []):
        name = panel.get("title") or f"panel {panel.get('id')}"
        if panel.get("type") not in KINDS:
            yield f"{name}: no such type of panel: {panel.get('type')}"
        if panel.get("id") in taken or not isinstance(panel.get("id"), int):
            yield f"{name}: its id is missing or not its own"
        taken.add(panel.get("id"))
        place = panel.get("gridPos", {})
        if set(place) != {"x", "y", "w", "h"} or place["x"] + place["w"] > 24:
            yield f"{name}: it does not fit the grid of 24 columns"
        if not panel.get("targets"):
            yield f"{name}: it asks nothing"
        for target in panel.get("targets", []):
            if not target.get("expr") or target.get("datasource", {}).get("uid") != "muster":
                yield f"{name}: a target without expr, or of another data source"


def expressions(dashboards):
    for dashboard in dashboards:
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                yield target["expr"].replace("$node", "login1")


def main(verb, *paths):
    dashboards = []
    wrong = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            dashboards.append(json.load(file))
        wrong += [f"{path}: {problem}" for problem in problems(dashboards[-1])]
    if verb == "check" or wrong:
        print("\n".join(wrong), end="\n" if wrong else "")
        return 1 if wrong else 0
    if verb == "rules":
        rules = [{"record": f"dashboard:{i}", "expr": text} for i, text in enumerate(expressions(dashboards))]
        print(json.dumps({"groups": [{"name": "dashboards", "rules": rules}]}))
    elif verb == "metrics":
        names = set()
        for text in expressions(dashboards):
            names |= set(re.findall(r"[a-zA-Z_:][a-zA-Z0-9_:]*", LABELS.sub(" ", text)))
        print("\n".join(sorted(names - FUNCTIONS)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
