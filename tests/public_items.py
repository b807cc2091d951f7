#!/usr/bin/env python3
"""Counts the public items of the core that its documentation shows, as nightly rustdoc lists them.

`public_items.py [--list]`. An item is a module, type, trait, function, method, hook, constant or
macro; fields, variants and implementations of traits are none, nor is what `#[doc(hidden)]` hides.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", CHECKOUT / "target")) / "public-items"


def children(kind, inner):
    """What stands in an item."""
    if kind == "module" or (kind == "impl" and inner["trait"] is None):
        return inner["items"]
    if kind == "trait":
        return inner["items"]
    return inner["impls"] if kind in ("struct", "enum") else []


def walk(index, number, path, found):
    """Notes the item and all in it, each once."""
    item = index.get(str(number))
    if item is None or number in found:
        return
    ((kind, inner),) = item["inner"].items()
    if kind == "use":
        return walk(index, inner["id"], path, found)
    name = path if kind == "impl" else f"{path}::{item['name']}"
    if kind != "impl":
        found[number] = (kind, name)
    for child in children(kind, inner):
        walk(index, child, name, found)


def main():
    command = ["cargo", "+nightly", "rustdoc", "-p", "firstflight", "--target-dir", str(TARGET)]
    command += ["--", "-Z", "unstable-options", "--output-format", "json"]
    subprocess.run(command, cwd=CHECKOUT, check=True, stderr=subprocess.DEVNULL)
    crate = json.loads((TARGET / "doc/firstflight.json").read_text())
    found = {}
    walk(crate["index"], crate["root"], "", found)
    if "--list" in sys.argv:
        print("\n".join(sorted(f"{name} {kind}" for kind, name in found.values())))
    kinds = Counter(kind for kind, _ in found.values())
    print(len(found), "public items:", ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()))


main()
