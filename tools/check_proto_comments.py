#!/usr/bin/python3
"""Checks that everything in the contract is commented: messages, fields, enums and their values,
services and calls.

A comment stands above the thing or behind it on its line; one above a field also speaks of those
that follow it without a blank line. Nothing is asked of what another comment explains: the zero
value of an enum, the request and response of a call, the member of a oneof that is a message.

Usage: check_proto_comments.py [ROOT]. Exits 1 and names file:line for each that is missing.
"""
import pathlib
import re
import sys

BLOCK = re.compile(r"\s*(message|enum|service|oneof)\s+(\w+)\s*\{")
FIELD = re.compile(r"\s*(?:repeated |optional )?(?:map<[^>]+>|[\w.]+)\s+(\w+)\s*=\s*(\d+)")
VALUE = re.compile(r"\s*([A-Z][A-Z0-9_]*)\s*=\s*(\d+)\s*;")
RPC = re.compile(r"\s*rpc\s+(\w+)")


def problems(name, lines):
    blocks = []  # the kinds of the blocks that are open
    commented = False  # by a comment above, with no blank line since
    for number, line in enumerate(lines, 1):
        code, slashes, _ = line.partition("//")
        if not code.strip():
            commented = bool(slashes)
            continue
        has_comment = commented or bool(slashes)
        opened = BLOCK.match(code)
        value = VALUE.match(code)
        call = RPC.match(code)
        field = FIELD.match(code)
        missing = None
        if opened:
            if opened.group(1) != "oneof" and not opened.group(2).endswith(("Request", "Response")):
                missing = f"{opened.group(1)} {opened.group(2)}"
        elif blocks and blocks[-1] == "enum" and value:
            missing = None if value.group(2) == "0" else f"value {value.group(1)}"
        elif call:
            missing = f"rpc {call.group(1)}"
        elif blocks and blocks[-1] in ("message", "oneof") and field:
            is_message = blocks[-1] == "oneof" and code.lstrip()[0].isupper()
            missing = None if is_message else f"field {field.group(1)}"
        if missing and not has_comment:
            yield f"{name}:{number}: {missing} has no comment"
        for brace in re.findall(r"[{}]", code):
            if brace == "{":
                blocks.append(opened.group(1) if opened else "other")
            else:
                blocks.pop()
        if opened or call or "}" in code:
            commented = False


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = []
    files = sorted((root / "proto").rglob("*.proto"))
    for path in files:
        found += problems(path.relative_to(root).as_posix(), path.read_text().splitlines())
    print("\n".join(found) if found else f"{len(files)} protocol files are commented")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
