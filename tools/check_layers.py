#!/usr/bin/python3
"""Checks who includes whom against the one list of layers, and that no cycle has grown.

Usage: check_layers.py [ROOT]. Exits 1 and names file:line for each include that is not allowed.
"""
import pathlib
import re
import sys

# Folder → folders it may include besides itself. The longest matching folder counts.
MAY_INCLUDE = {
    "common/base": [],
    "common/checks": ["common/base"],
    "common/value": ["common/base", "muster/v1"],
    "common/wire": ["common/base", "muster/v1"],
    "common/yaml": ["common/base"],
    "common/sys": ["common/base"],
    "common/pki": ["common/base"],
    "agent/sys": ["common/base", "common/sys"],
    "agent/state": ["common/base", "common/sys", "muster/v1"],
    "agent/resources": ["common/base", "common/sys", "agent/sys", "agent/state", "muster/v1"],
    "agent/transfer": ["common/base", "common/sys", "agent/state", "agent/resources", "muster/v1"],
    "agent/facts": ["common/base", "common/sys", "common/wire", "agent/sys", "agent/state",
                    "muster/v1"],
    "agent/engine": ["common/base", "common/sys", "agent/sys", "agent/state", "agent/resources",
                     "agent/facts", "muster/v1"],
    "agent/burnin": ["common/base", "common/checks", "common/sys"],
    "agent/validation": ["common/base", "common/checks", "common/sys", "agent/state", "muster/v1"],
    "agent/slurm": ["common/base", "common/sys", "muster/v1"],
    "agent/session": ["common/base", "common/sys", "common/pki", "agent/sys", "agent/state",
                      "agent/resources", "agent/facts", "agent/transfer", "agent/engine",
                      "agent/slurm", "agent/validation", "agent/constants.h",
                      "muster/v1"],
    "agent": ["common", "agent", "muster/v1"],
    "controller/template": ["common/base", "common/value"],
    "controller/inventory": ["common/base", "common/value", "common/yaml", "muster/v1"],
    "controller/playbook": ["common/base", "common/value", "common/yaml", "controller/template",
                            "controller/inventory", "muster/v1"],
    "controller/store": ["common/base", "common/sys"],
    "controller/artifact": ["common/base", "common/sys", "controller/store"],
    "controller/secret": ["common/base", "common/sys", "controller/store", "controller/playbook"],
    "controller/session": ["common/base", "common/sys", "common/pki", "common/wire",
                           "controller/store",
                           "controller/enrollment", "controller/artifact", "muster/v1"],
    "controller/enrollment": ["common/base", "common/sys", "common/pki", "controller/store",
                              "muster/v1"],
    "controller/http": ["common/base", "common/sys"],
    "controller/claim": ["common/base"],
    "controller/run": ["common/base", "common/sys", "common/value", "controller/store",
                       "controller/session", "controller/artifact", "controller/inventory",
                       "controller/playbook", "controller/secret", "controller/claim",
                       "muster/v1"],
    "controller/slurm": ["common/base", "controller/session", "controller/inventory", "muster/v1"],
    "controller/validation/suite": ["common/base", "common/checks", "common/yaml",
                                    "controller/inventory", "muster/v1"],
    "controller/validation/schedule": ["common/checks", "controller/validation/suite",
                                       "muster/v1"],
    "controller/validation/verdict": ["common/base", "common/checks", "controller/inventory",
                                      "controller/validation/suite",
                                      "controller/validation/schedule", "muster/v1"],
    "controller/validation/learning": ["common/base", "controller/validation/suite",
                                       "controller/validation/verdict", "muster/v1"],
    "controller/gate": ["common/base", "controller/store", "controller/slurm",
                        "controller/validation/suite", "muster/v1"],
    "controller/validation/engine": ["common/base", "common/checks", "controller/store",
                                     "controller/session", "controller/inventory",
                                     "controller/claim", "controller/gate",
                                     "controller/validation", "muster/v1"],
    "controller/service": ["common", "controller/store", "controller/session",
                           "controller/artifact", "controller/enrollment", "controller/inventory",
                           "controller/playbook", "controller/secret", "controller/run",
                           "controller/validation", "controller/gate", "controller/slurm",
                           "controller/http",
                           "muster/v1"],
    "controller/backup": ["common/base", "common/sys", "common/pki", "controller/store",
                          "controller/secret", "controller/artifact", "controller/enrollment",
                          "controller/config.h"],
    "controller": ["common", "controller", "muster/v1"],
    "cli": ["common", "muster/v1"],
}

# Of these folders the others see interface headers only.
INTERFACES = {
    "controller/store": {"store.h", "stored_facts.h", "tables.h"},
    "controller/session": {"agent_sessions.h", "node_queue.h"},
}
# Who makes the implementations and hands them out.
WIRING = ("controller/controller.cc", "controller/service", "controller/backup")

INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


def layer_of(path):
    """The longest folder of MAY_INCLUDE that holds `path`, or None."""
    best = None
    for folder in MAY_INCLUDE:
        if (path == folder or path.startswith(folder + "/")) and len(folder) > len(best or ""):
            best = folder
    return best


def problems(root):
    for folder in ("common", "agent", "controller", "cli"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            name = path.relative_to(root).as_posix()
            layer = layer_of(name)
            if layer is None:
                yield f"{name}:1: folder is not in the list of layers of tools/check_layers.py"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = match.group(1)
                if target.split("/")[0] not in ("common", "agent", "controller", "cli", "muster",
                                                "tests"):
                    continue  # a library's
                allowed = [layer, *MAY_INCLUDE[layer]]
                if not any(target == a or target.startswith(a + "/") for a in allowed):
                    yield f"{name}:{number}: {layer} may not include {target}"
                home, _, header = target.rpartition("/")
                if (home in INTERFACES and layer != home and header not in INTERFACES[home]
                        and not name.startswith(WIRING)):
                    yield (f"{name}:{number}: {target} is private to {home}; "
                           f"include one of {', '.join(sorted(INTERFACES[home]))}")


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
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(problems(root))
    loop = cycle()
    if loop:
        found.append("layers form a cycle: " + " → ".join(loop))
    print("\n".join(found) if found else "layers are clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
