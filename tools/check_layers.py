#!/usr/bin/python3
"""Checks includes against the one list of layers, which is MAY_INCLUDE below.

Usage: check_layers.py [--table] [ROOT]. Exits 1 and names file:line for each include that is not
allowed, each permission that no include uses, a cycle among the layers, and a table in
docs/architecture.md that differs from the list. --table prints the table as it should be.
"""
import argparse
import pathlib
import re
import sys

# Folder → folders it may include besides itself. The longest matching folder counts.
MAY_INCLUDE = {
    "common/base": [],
    "common/checks": ["common/base"],
    "common/health": [],
    "common/value": ["common/base", "muster/v1"],
    "common/wire": ["common/base"],
    "common/yaml": ["common/base"],
    "common/image": ["common/base", "common/yaml"],
    "common/sys": ["common/base"],
    "common/pki": ["common/base"],
    "agent/sys": ["common/base", "common/sys"],
    "agent/state": ["common/base", "common/sys", "muster/v1"],
    "agent/upgrade": ["common/base", "common/sys", "agent/sys", "agent/state"],
    "agent/resources": ["common/base", "common/sys", "agent/sys", "agent/state", "agent/slurm",
                        "agent/upgrade",
                        "muster/v1"],
    "agent/transfer": ["common/base", "common/sys", "agent/resources", "muster/v1"],
    "agent/facts": ["common/base", "common/sys", "common/wire", "agent/sys", "muster/v1"],
    "agent/engine": ["common/base", "agent/state", "agent/resources", "muster/v1"],
    "agent/image": ["common/base", "common/sys", "common/value", "agent/sys", "agent/state", "agent/resources",
                    "agent/transfer", "agent/facts", "agent/engine", "muster/v1"],
    "agent/discovery": ["common/base", "common/sys", "agent/facts", "muster/v1"],
    "agent/disk": ["common/base", "common/sys", "common/value", "agent/sys", "muster/v1"],
    "agent/burnin": ["common/base", "common/checks", "common/health", "common/sys"],
    "agent/validation": ["common/base", "common/checks", "common/sys", "muster/v1"],
    "agent/slurm": ["common/base", "common/sys", "muster/v1"],
    "agent/command": ["common/base", "common/sys", "agent/sys", "muster/v1"],
    "agent/health": ["common/base", "common/health", "common/pki", "common/sys", "agent/command",
                     "agent/facts", "agent/sys", "muster/v1"],
    "agent/reading": ["common/base", "common/sys", "agent/facts", "agent/health", "muster/v1"],
    "agent/session": ["common/base", "common/sys", "common/pki", "agent/sys", "agent/state",
                      "agent/transfer", "agent/engine", "agent/slurm", "agent/validation",
                      "agent/command", "agent/health", "agent/reading", "muster/v1"],
    "agent": ["common", "agent"],
    "controller/template": ["common/base", "common/value", "common/yaml"],
    "controller/rollout/plan": ["common/base", "muster/v1"],
    "controller/notify/kinds": [],
    "controller/inventory": ["common/base", "common/health", "common/yaml", "controller/rollout/plan",
                             "controller/notify/kinds", "muster/v1"],
    "controller/stack": ["common/base", "common/yaml", "controller/inventory"],
    "controller/playbook": ["common/base", "common/value", "common/yaml", "controller/template",
                            "controller/inventory", "controller/stack", "muster/v1"],
    "controller/store": ["common/base"],
    "controller/audit": ["controller/store"],
    "controller/feed": ["common/value", "muster/v1"],
    "controller/timeline": ["common/base", "controller/feed", "controller/inventory",
                            "controller/store", "muster/v1"],
    "controller/notify": ["controller/audit", "common/base", "controller/store",
                          "controller/inventory", "controller/playbook", "muster/v1"],
    "controller/command": ["controller/feed", "controller/audit", "common/base", "controller/store",
                           "controller/session", "muster/v1"],
    "controller/artifact": ["common/base", "controller/audit", "common/sys", "common/value", "controller/store"],
    "controller/secret": ["controller/audit", "common/base", "common/sys", "controller/store", "controller/playbook"],
    "controller/session": ["controller/audit", "common/base", "common/pki", "common/wire", "controller/store",
                           "controller/enrollment", "controller/artifact", "muster/v1"],
    "controller/enrollment": ["controller/audit", "common/base", "common/sys", "common/pki", "controller/store"],
    "controller/login": ["common/base", "controller/enrollment"],
    "controller/http": ["common/base"],
    "controller/snapshot": ["common/base", "common/sys", "controller/artifact", "controller/audit",
                            "controller/http", "controller/inventory", "controller/store",
                            "muster/v1"],
    "controller/image": ["common/base", "common/image", "common/sys", "common/value", "common/yaml",
                         "controller/artifact", "controller/audit", "controller/http",
                         "controller/inventory", "controller/playbook", "controller/run",
                         "controller/store", "muster/v1"],
    "controller/boot": ["common/base", "common/image", "common/sys", "common/value", "common/wire",
                        "controller/audit", "controller/http", "controller/image",
                        "controller/inventory", "controller/store", "muster/v1"],
    "controller/metrics": [],
    "controller/claim": ["common/base"],
    "controller/run": ["controller/feed", "controller/audit", "common/base", "common/sys", "common/value", "controller/store",
                       "controller/session", "controller/artifact", "controller/inventory",
                       "controller/playbook", "controller/secret", "controller/claim", "controller/gate",
                       "muster/v1"],
    "controller/slurm": ["common/base", "controller/session", "controller/inventory", "muster/v1"],
    "controller/validation/suite": ["common/base", "common/checks", "common/yaml",
                                    "controller/inventory", "controller/stack", "muster/v1"],
    "controller/validation/schedule": ["common/checks", "controller/validation/suite",
                                       "muster/v1"],
    "controller/validation/verdict": ["common/base", "common/checks", "controller/inventory",
                                      "controller/validation/suite",
                                      "controller/validation/schedule", "muster/v1"],
    "controller/validation/judge": ["controller/validation/suite",
                                    "controller/validation/schedule",
                                    "controller/validation/verdict", "muster/v1"],
    "controller/validation/learning": ["common/base", "controller/validation/suite",
                                       "controller/validation/verdict", "muster/v1"],
    "controller/gate": ["controller/audit", "common/base", "controller/store", "controller/slurm",
                        "controller/validation/suite", "muster/v1"],
    "controller/reading": ["common/base", "controller/session", "muster/v1"],
    "controller/health": ["controller/audit", "common/base", "common/health", "common/value", "controller/store",
                          "controller/session", "controller/inventory", "controller/gate", "muster/v1"],
    "controller/rollout": ["controller/feed", "controller/audit", "common/base", "common/value",
                           "controller/store", "controller/session", "controller/inventory", "controller/claim",
                           "controller/slurm", "controller/gate", "controller/run", "muster/v1"],
    "controller/power/redfish": ["common/base", "common/value", "controller/inventory",
                                 "controller/power/bmc.h", "controller/secret"],
    "controller/power": ["controller/feed", "controller/audit", "common/base", "controller/store",
                         "controller/inventory", "controller/playbook", "controller/secret",
                         "controller/claim", "controller/gate",
                         "controller/run", "controller/rollout/plan", "controller/session",
                         "controller/validation/schedule", "muster/v1"],
    "controller/console": ["common/base", "controller/inventory", "controller/power", "controller/secret"],
    "controller/drift": ["controller/audit", "common/base", "controller/store", "controller/session",
                         "controller/inventory", "controller/claim", "controller/run",
                         "controller/rollout", "muster/v1"],
    "controller/validation/engine": ["controller/feed", "controller/audit", "common/base", "controller/store",
                                     "controller/session", "controller/inventory",
                                     "controller/claim", "controller/gate",
                                     "controller/validation", "muster/v1"],
    "controller/service": ["controller/feed", "controller/audit", "common", "controller/store", "controller/session",
                           "controller/artifact", "controller/enrollment", "controller/inventory",
                           "controller/playbook", "controller/secret", "controller/run",
                           "controller/validation", "controller/gate", "controller/slurm",
                           "controller/rollout", "controller/drift", "controller/stack", "controller/command",
                           "controller/metrics", "controller/login", "controller/notify", "controller/health",
                           "controller/reading", "controller/snapshot", "controller/image", "controller/boot", "controller/power", "controller/console",
                           "controller/timeline",
                           "muster/v1"],
    "controller/web": ["common/base", "common/checks", "common/value", "controller/store", "controller/audit",
                       "controller/enrollment", "controller/inventory", "controller/feed", "controller/login",
                       "controller/http", "controller/metrics", "controller/run", "controller/rollout",
                       "controller/validation", "controller/service", "muster/v1"],
    "controller/backup": ["controller/audit", "common/base", "common/sys", "controller/store", "controller/secret",
                          "controller/artifact", "controller/enrollment", "controller/run", "controller/rollout",
                          "controller/validation/engine", "controller/config.h", "muster/v1"],
    "controller": ["common", "controller", "muster/v1"],
    "cli": ["common", "muster/v1"],
}

# Other folders may include only these headers of them.
INTERFACES = {
    "controller/store": {"store.h", "stored_facts.h", "tables.h"},
    "controller/session": {"agent_sessions.h", "facts_round.h", "fleet_pace.h", "node_queue.h",
                           "silence.h"},
}
# These create the implementations and pass them on, so they may include all headers.
WIRING = ("controller/wiring", "controller/service", "controller/backup")

PAGE = "docs/architecture.md"
BEGIN = "<!-- layers:begin -->"
END = "<!-- layers:end -->"

OURS = ("common", "agent", "controller", "cli", "muster", "tests")
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


def layer_of(path):
    """The longest folder of MAY_INCLUDE that holds `path`, or None."""
    best = None
    for folder in MAY_INCLUDE:
        if (path == folder or path.startswith(folder + "/")) and len(folder) > len(best or ""):
            best = folder
    return best


def allows(permission, target):
    return target == permission or target.startswith(permission + "/")


def includes(root):
    """(file, line, layer, target) of each include of our own headers; layer None: in no list."""
    for folder in ("common", "agent", "controller", "cli"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            name = path.relative_to(root).as_posix()
            layer = layer_of(name)
            if layer is None:
                yield name, 1, None, None
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match and match.group(1).split("/")[0] in OURS:
                    yield name, number, layer, match.group(1)


def problems(root):
    unused = {(layer, permission) for layer, permissions in MAY_INCLUDE.items()
              for permission in permissions}
    for name, number, layer, target in includes(root):
        if layer is None:
            yield f"{name}:1: folder is not in the list of layers of tools/check_layers.py"
            continue
        if not any(allows(permission, target) for permission in [layer, *MAY_INCLUDE[layer]]):
            yield f"{name}:{number}: {layer} may not include {target}"
        unused -= {(layer, permission) for permission in MAY_INCLUDE[layer]
                   if allows(permission, target)}
        home, _, header = target.rpartition("/")
        if (home in INTERFACES and layer != home and header not in INTERFACES[home]
                and not name.startswith(WIRING)):
            yield (f"{name}:{number}: {target} is private to {home}; "
                   f"include one of {', '.join(sorted(INTERFACES[home]))}")
    for layer, permission in sorted(unused):
        yield (f"tools/check_layers.py: no include uses the permission {layer} -> {permission}; "
               "remove it")


def table():
    """MAY_INCLUDE as Markdown."""
    rows = ["| folder | may include, besides itself | headers that others may include |",
            "|---|---|---|"]
    for layer, permissions in MAY_INCLUDE.items():
        may = ", ".join(f"`{permission}`" for permission in permissions) or "nothing"
        headers = ", ".join(f"`{header}`" for header in sorted(INTERFACES.get(layer, ())))
        rows.append(f"| `{layer}` | {may} | {headers or 'all'} |")
    return "\n".join(rows)


def table_problem(root):
    """What is wrong with the table in the document, or None."""
    _, begin, rest = (root / PAGE).read_text().partition(BEGIN + "\n")
    written, end, _ = rest.partition("\n" + END)
    if not begin or not end:
        return f"{PAGE}: the table of layers must be between {BEGIN} and {END}"
    if written != table():
        return (f"{PAGE}: the table of layers differs from tools/check_layers.py; replace it with "
                "the output of `tools/check_layers.py --table`")
    return None


def cycle():
    """A cycle among the layers themselves, or None."""
    state = {}

    def visit(folder, trail):
        if state.get(folder) == "done" or folder in ("agent", "controller", "common"):
            return None
        if folder in trail:
            return trail[trail.index(folder):] + [folder]
        for other in MAY_INCLUDE.get(folder, []):
            found = visit(other, trail + [folder])
            if found:
                return found
        state[folder] = "done"
        return None

    for folder in MAY_INCLUDE:
        found = visit(folder, [])
        if found:
            return found
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="print the table for the document")
    parser.add_argument("root", nargs="?", default=".", help="the checkout (default: this folder)")
    arguments = parser.parse_args()
    if arguments.table:
        print(table())
        return 0
    root = pathlib.Path(arguments.root).resolve()
    found = list(problems(root))
    loop = cycle()
    if loop:
        found.append("layers form a cycle: " + " → ".join(loop))
    found += filter(None, [table_problem(root)])
    print("\n".join(found) if found else "layers are clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
