#!/usr/bin/python3
"""Checks that the tests which docs/security.md names as proofs exist.

Usage: check_threats.py [ROOT]. Each `Suite.Name` in the table of threats must be a test under
tests/. Exits 1 and names each that is not.
"""
import pathlib
import re
import sys

PAGE = "docs/security.md"


def tests(root):
    for path in (root / "tests").rglob("*_test.cc"):
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", path.read_text(), re.M):
            yield f"{suite}.{name}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    section = (root / PAGE).read_text().partition("## Threats\n")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+\.\w+)`", section)
    existing = set(tests(root))
    missing = [name for name in named if name not in existing]
    for name in missing:
        print(f"{PAGE}: there is no test {name}")
    if not named:
        print(f"{PAGE}: the table of threats names no test")
    if named and not missing:
        print(f"{len(named)} tests that prove the table of threats exist")
    return 1 if missing or not named else 0


if __name__ == "__main__":
    sys.exit(main())
