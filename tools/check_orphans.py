#!/usr/bin/python3
"""Finds C++ sources that no CMakeLists.txt names.

Usage: check_orphans.py [ROOT]. Exits 1 and names each forgotten file.
"""
import pathlib
import re
import sys

FOLDERS = ("common", "agent", "controller", "cli", "tests", "bench")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    named = set()
    for listing in root.rglob("CMakeLists.txt"):
        if "build" in listing.relative_to(root).parts:
            continue
        folder = listing.parent
        for word in re.findall(r"[\w./${}-]+\.cc\b", listing.read_text()):
            word = word.replace("${CMAKE_SOURCE_DIR}", str(root))
            word = word.replace("${CMAKE_CURRENT_SOURCE_DIR}", str(folder))
            named.add((folder / word).resolve())
        # muster_fuzz(name …) takes its source from the name.
        for name in re.findall(r"muster_fuzz\(\s*(\w+)", listing.read_text()):
            named.add((folder / f"{name}_fuzz.cc").resolve())
    orphans = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.cc"))
               if path.resolve() not in named]
    for path in orphans:
        print(f"{path.relative_to(root)}: in no CMakeLists.txt")
    if not orphans:
        print(f"all sources are in a CMakeLists.txt ({len(named)} named)")
    return 1 if orphans else 0


if __name__ == "__main__":
    sys.exit(main())
