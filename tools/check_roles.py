#!/usr/bin/python3
"""docs/roles.md has a section for every shipped role, with a table of its variables that is made from
the comments in the role's defaults. Checks that; with --write, writes the tables anew.

A section is "## NAME", its table stands between "<!-- variables of NAME -->" and "<!-- end -->".
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROLES = ROOT / "playbooks" / "roles"
PAGE = ROOT / "docs" / "roles.md"
MAX_DEFAULT = 60


def variables_of(path):
    """[(names, defaults, comment)]: variables that follow each other share the comment above them."""
    rows = []
    comment = []
    fresh = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = re.match(r"([a-z][a-z0-9_]*):\s*(.*)$", line)
        if line.startswith("#"):
            if not fresh:
                comment = []
            comment.append(line[1:].strip())
            fresh = True
        elif found:
            if not comment:
                raise SystemExit(f"{path.relative_to(ROOT)}:{number}: '{found[1]}' has no comment "
                                 "above it; docs/roles.md is made from it")
            # A comment behind the value is for readers of the file.
            value = re.sub(r"\s+#\s.*$", "", found[2])
            if fresh:
                rows.append(([found[1]], [value], " ".join(comment)))
            else:
                rows[-1][0].append(found[1])
                rows[-1][1].append(value)
            fresh = False
        elif not line.strip():
            comment = []
            fresh = False
    return rows


def cell(text):
    return text.replace("|", "\\|")


def default(value):
    if not value or value in ("|", ">") or len(value) > MAX_DEFAULT:
        return "see the file"
    return f"`{cell(value)}`"


def table(role):
    path = ROLES / role / "defaults" / "main.yaml"
    rows = variables_of(path) if path.exists() else []
    if not rows:
        return "It has no variables."
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for names, values, comment in rows:
        lines.append("| {} | {} | {} |".format(
            "<br>".join(f"`{name}`" for name in names),
            "<br>".join(default(value) for value in values), cell(comment)))
    return "\n".join(lines)


def main():
    roles = sorted(path.name for path in ROLES.iterdir() if path.is_dir())
    page = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^## ([a-z_]+)$", page, re.M)
    errors = [f"docs/roles.md: no section '## {role}'" for role in roles if role not in headings]
    errors += [f"docs/roles.md: '## {name}' is not a role" for name in headings if name not in roles]
    written = page
    for role in roles:
        block = re.compile(rf"(<!-- variables of {role} -->\n).*?(<!-- end -->)", re.S)
        if not block.search(page):
            errors.append(f"docs/roles.md: no '<!-- variables of {role} -->' … '<!-- end -->'")
        written = block.sub(lambda found, role=role: f"{found[1]}{table(role)}\n{found[2]}", written)
    if "--write" in sys.argv[1:] and not errors:
        PAGE.write_text(written, encoding="utf-8")
    elif written != page:
        errors.append("docs/roles.md: the tables differ from the roles' defaults; "
                      "run tools/check_roles.py --write")
    for error in errors:
        print(error)
    if not errors:
        print(f"docs/roles.md has all {len(roles)} roles")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
