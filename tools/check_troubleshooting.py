#!/usr/bin/python3
"""Checks that the messages docs/troubleshooting.md explains are still what programs say.

Usage: check_troubleshooting.py [ROOT]. Each heading of the third level must stand in a text of the
sources. Exits 1 and names each that does not.
"""
import pathlib
import re
import sys

FOLDERS = ("common", "agent", "controller", "cli")
PAGE = "docs/troubleshooting.md"


def texts(root):
    """All string literals, with those that the compiler joins joined."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.cc")):
            joined = re.sub(r'"\s*\n\s*"', "", path.read_text())
            for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined):
                yield re.sub(r"\\(.)", r"\1", literal)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    everything = "\n".join(texts(root))
    headings = re.findall(r"^### (.+)$", (root / PAGE).read_text(), re.M)
    missing = [heading for heading in headings if heading not in everything]
    for heading in missing:
        print(f"{PAGE}: no program says '{heading}'")
    if not headings:
        print(f"{PAGE}: no headings")
    if headings and not missing:
        print(f"{len(headings)} messages are what programs say")
    return 1 if missing or not headings else 0


if __name__ == "__main__":
    sys.exit(main())
