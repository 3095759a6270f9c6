"""Compares Muster's templates with python3-jinja2 over a table of cases.

A case is {"template", "vars", "files"}, where files are what it may include, and must print the same
in both; with "error": true both must refuse it; with "ours_only": "error" Jinja2 accepts what Muster
leaves out, and says why.
"""
import json
import subprocess
import sys

import jinja2

import ansible_filters


def render(environment, case):
    environment.loader = jinja2.DictLoader(case.get("files", {}))
    if environment.cache is not None:
        environment.cache.clear()
    try:
        return {"text": environment.from_string(case["template"]).render(case.get("vars", {}))}
    except Exception as error:  # any refusal is one
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    program, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True,
                                     keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    for name, function in ansible_filters.FILTERS.items():
        environment.filters[name] = environment.filters[f"ansible.builtin.{name}"] = function
    done = subprocess.run([program, path], capture_output=True, text=True, check=True)
    ours = json.loads(done.stdout)
    assert len(ours) == len(cases), (len(ours), len(cases))
    failed = 0
    for case, mine in zip(cases, ours):
        theirs = render(environment, case)
        if case.get("ours_only") == "error":
            good = "error" in mine and "text" in theirs
        elif case.get("error"):
            good = "error" in mine and "error" in theirs
        else:
            good = "text" in mine and mine == theirs
        if not good:
            failed += 1
            print(f"template: {case['template']!r}\n  muster: {mine}\n  jinja2: {theirs}")
    print(f"{len(cases)} cases, {failed} failed")
    return 1 if failed or len(cases) < 120 else 0


if __name__ == "__main__":
    sys.exit(main())
