#!/usr/bin/python3
"""Finds sources that clang-format would change; ./dev format changes them.

Releases of clang-format differ: only that of Debian 12 is asked, another one or none passes over all.

Usage: check_format.py [ROOT]. Exits 1 and names file:line of each difference.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

RELEASE = "version 14."
KINDS = ("*.h", "*.cc", "*.cu", "*.proto")
AT_ONCE = 40  # files


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if program is None or RELEASE not in subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=True).stdout:
        print("clang-format 14 is not installed: nothing was checked (./dev deps)")
        return 0
    listed = subprocess.run(["git", "ls-files", "-z", "--", *KINDS], cwd=root, text=True,
                            capture_output=True, check=True).stdout
    files = [name for name in listed.split("\0") if name and (root / name).exists()]

    def differences(names):
        done = subprocess.run([program, "--dry-run", "-Werror", *names], cwd=root, text=True,
                              capture_output=True)
        return [line for line in done.stderr.splitlines() if ": error: " in line]

    pieces = [files[i:i + AT_ONCE] for i in range(0, len(files), AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(differences, pieces) for line in lines]
    for line in found:
        print(line)
    if not found:
        print(f"{len(files)} files are as clang-format writes them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
