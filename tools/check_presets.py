#!/usr/bin/python3
"""Checks that every preset of CMakePresets.json can be configured: those that build only at night
break unseen.

Presets whose compiler is not installed are named and passed over.

Usage: check_presets.py [ROOT]. Exits 1 and shows what CMake says of each that fails.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def variables(presets, name):
    """The cache variables of a preset, with what it inherits."""
    preset = presets[name]
    inherited = preset.get("inherits", [])
    found = {}
    for parent in [inherited] if isinstance(inherited, str) else reversed(inherited):
        found.update(variables(presets, parent))
    found.update(preset.get("cacheVariables", {}))
    return found


def configure(root, name, folder):
    """What CMake says against a preset; empty: nothing."""
    done = subprocess.run(["cmake", "--preset", name, "-B", folder], cwd=root, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if done.returncode == 0 else done.stdout


def main(root):
    listed = json.loads((root / "CMakePresets.json").read_text())["configurePresets"]
    presets = {preset["name"]: preset for preset in listed}
    failed = False
    for name, preset in presets.items():
        if preset.get("hidden"):
            continue
        compiler = variables(presets, name).get("CMAKE_CXX_COMPILER", "c++")
        if shutil.which(compiler) is None:
            print(f"preset {name}: passed over, {compiler} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            said = configure(root, name, folder)
        if said:
            print(f"preset {name} cannot be configured:\n{said}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
