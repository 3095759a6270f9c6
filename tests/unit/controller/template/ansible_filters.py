"""Filters that Jinja2 lacks, as Ansible documents them: the reference for those of Muster.

Where Muster differs on purpose (docs/templates.md), so do these: no order is left to chance, tuples
are lists, and to_nice_yaml writes nothing that YAML 1.2 reads as another value.
"""
import json
import os.path
import subprocess

import yaml


class Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data):
        return True


def to_json(value, indent=None, sort_keys=False, ensure_ascii=True):
    return json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=ensure_ascii)


def to_nice_json(value, indent=4, sort_keys=True, ensure_ascii=True):
    return json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=ensure_ascii,
                      separators=(",", ": "))


def to_nice_yaml(value, indent=4, width=80, sort_keys=True):
    return yaml.dump(value, Dumper=Dumper, indent=indent, width=width, sort_keys=sort_keys,
                     allow_unicode=True, default_flow_style=False)


def unique(values):
    out = []
    for value in values:
        if value not in out:
            out.append(value)
    return out


def needs_lists(*values):
    if not all(isinstance(value, list) for value in values):
        raise TypeError("sets are made of lists")


def union(a, b):
    needs_lists(a, b)
    return unique(a + b)


def difference(a, b):
    needs_lists(a, b)
    return unique(value for value in a if value not in b)


def intersect(a, b):
    needs_lists(a, b)
    return unique(value for value in a if value in b)


def zip_shortest(*lists):
    return [list(row) for row in zip(*lists)]


def zip_longest(*lists, fillvalue=None):
    rows = max(map(len, lists))
    return [[values[i] if i < len(values) else fillvalue for values in map(list, lists)]
            for i in range(rows)]


def flatten(values, levels=None, skip_nulls=True):
    needs_lists(values)
    out = []
    for value in values:
        if skip_nulls and value in (None, "None", "null"):
            continue
        if isinstance(value, list) and (levels is None or levels > 0):
            out += flatten(value, None if levels is None else levels - 1, skip_nulls)
        else:
            out.append(value)
    return out


LIST_MERGES = {
    "replace": lambda low, high: high,
    "keep": lambda low, high: low,
    "append": lambda low, high: low + high,
    "prepend": lambda low, high: high + low,
    "append_rp": lambda low, high: [x for x in low if x not in high] + high,
    "prepend_rp": lambda low, high: high + [x for x in low if x not in high],
}


def merge(low, high, recursive, list_merge):
    if not low or low == high:
        return high
    out = dict(low)
    for key, value in high.items():
        old = out.get(key)
        if recursive and isinstance(old, dict) and isinstance(value, dict):
            out[key] = merge(old, value, recursive, list_merge)
        elif isinstance(old, list) and isinstance(value, list):
            out[key] = LIST_MERGES[list_merge](old, value)
        else:
            out[key] = value
    return out


def combine(*values, recursive=False, list_merge="replace"):
    dictionaries = flatten(list(values), levels=1)
    if not all(isinstance(value, dict) for value in dictionaries):
        raise TypeError("only dictionaries are combined")
    out = dictionaries.pop() if dictionaries else {}
    for low in reversed(dictionaries):
        out = merge(low, out, recursive, list_merge)
    return out


def dict2items(value, key_name="key", value_name="value"):
    return [{key_name: key, value_name: each} for key, each in value.items()]


def items2dict(values, key_name="key", value_name="value"):
    needs_lists(values)
    return {value[key_name]: value[value_name] for value in values}


COMMENTS = {
    "plain": ("# ", "", ""),
    "c": ("// ", "", ""),
    "cblock": (" * ", "/*", " */"),
    "erlang": ("% ", "", ""),
    "xml": (" - ", "<!--", "-->"),
}


def comment(text, style="plain", decoration=None, prefix=None, prefix_count=1, postfix=None,
            postfix_count=1, beginning=None, end=None):
    usual = COMMENTS[style]
    decoration = usual[0] if decoration is None else decoration
    bare = decoration.rstrip()
    prefix = bare if prefix is None else prefix
    postfix = bare if postfix is None else postfix
    beginning = usual[1] if beginning is None else beginning
    end = usual[2] if end is None else end
    lines = (decoration + text.replace("\n", "\n" + decoration)).replace(decoration + "\n",
                                                                         bare + "\n")
    before = [beginning] if beginning else []
    before += ["" if prefix == "\n" else prefix] * prefix_count if prefix else []
    after = [postfix] * postfix_count + ([end] if end else [])
    return "\n".join(before + [lines] + after)


def password_hash(password, hashtype="sha512", salt=None, salt_size=None, rounds=5000):
    if hashtype != "sha512" or not salt or salt_size or rounds != 5000:
        raise ValueError("OpenSSL's program makes none of these")
    return subprocess.run(["openssl", "passwd", "-6", "-salt", str(salt), "-stdin"], check=True,
                          input=str(password), capture_output=True, text=True).stdout.strip()


FILTERS = {
    "to_json": to_json,
    "to_nice_json": to_nice_json,
    "from_json": json.loads,
    "to_nice_yaml": to_nice_yaml,
    "union": union,
    "difference": difference,
    "intersect": intersect,
    "zip": zip_shortest,
    "zip_longest": zip_longest,
    "flatten": flatten,
    "combine": combine,
    "dict2items": dict2items,
    "items2dict": items2dict,
    "comment": comment,
    "password_hash": password_hash,
    "basename": os.path.basename,
    "dirname": os.path.dirname,
}
