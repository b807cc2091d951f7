#!/usr/bin/env python3
"""Circles of imports: modules of a crate of which each takes something from the next, and the last
from the first.

  tests/circles.py [CRATE...]   those of every crate, or of these, and what ties each; exit code 1 if there is one

Read as text: `use` lines and paths such as `super::name` or `child::name`. A name counts as taken from the
module that defines it, whichever re-exports it, so that a crate may hand out through `lib.rs` what its own
modules bring. Methods are not seen: an `impl` may stand above its type. Tests are left out.
"""

import re
import sys
from pathlib import Path

CRATES = Path(__file__).resolve().parent.parent / "crates"

USE = re.compile(r"(?:^|(?<=[\s;{}]))(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
ITEM = re.compile(r"\b(?:fn|struct|enum|trait|const|static|type|union)\s+(?:mut\s+)?(\w+)|\bmacro_rules!\s+(\w+)")
PATH = re.compile(r"(?<![\w:])\w+(?:\s*::\s*\w+)+")
# Comments, then what may look like one: strings, characters.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\b[bc]?r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^'\\])'""", re.S
)
OF_TESTS = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*")


def end_of_block(text, at):
    """Behind the brace that closes the first one from `at` on."""
    depth = 0
    for place in range(text.index("{", at), len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place + 1
    return len(text)


def without_tests(text):
    """The text without what is compiled for tests only."""
    while found := OF_TESTS.search(text):
        end = re.compile(r"[;{]").search(text, found.end()).end()
        end = end if text[end - 1] == ";" else end_of_block(text, end - 1)
        text = text[: found.start()] + text[end:]
    return text


def uses(tree, before=()):
    """Each name that a `use` brings, with the path that it stands for."""
    head, brace, inner = tree.strip().partition("{")
    path = before + tuple(part.strip() for part in head.split("::") if part.strip())
    if not brace:
        *path, last = path
        last, _, name = last.partition(" as ")
        path = tuple(path) if last == "self" else (*path, last)
        yield path, (name or path[-1]).strip()
        return
    depth, part = 0, ""
    for letter in inner[: inner.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and not depth:
            if part.strip():
                yield from uses(part, path)
            part = ""
        else:
            part += letter


class Module:
    def __init__(self, path, text):
        self.path = path
        text = without_tests(NO_CODE.sub(" ", text))
        # Neither to declare a child, which may be called as what it defines, nor to say who may see something takes
        # anything from a module.
        text = re.sub(r"\bmod\s+\w+\s*;|\bpub\([^)]*\)", " ", text)
        # What stands in a `mod name { ... }` is of the file's module.
        for found in reversed(list(re.finditer(r"\bmod\s+\w+\s*(?=\{)", text))):
            end = end_of_block(text, found.end())
            inner = re.sub(r"(?<![\w:])super::", "self::", text[found.end() : end])
            text = text[: found.end()] + inner + text[end:]
        self.uses = [one for found in USE.finditer(text) for one in uses(found[1])]
        self.body = USE.sub(" ", text)
        self.items = {name for names in ITEM.findall(self.body) for name in names if name}


class Crate:
    def __init__(self, folder):
        self.modules = {}
        for file in sorted((folder / "src").rglob("*.rs")):
            path = file.relative_to(folder / "src").with_suffix("").parts
            path = path[:-1] if path[-1] in ("lib", "main", "mod") else path
            # The program beside its library is a line; files of tests are no modules of the crate.
            if path not in self.modules and "tests" not in path and "bin" not in path:
                self.modules[path] = Module(path, file.read_text())

    def absolute(self, module, path):
        """A path as it is from the root of the crate; none if it leads to another crate."""
        base, first = module.path, path[0]
        if first == "crate":
            return tuple(path[1:])
        if first in ("self", "super"):
            while path and path[0] in ("self", "super"):
                base = base[:-1] if path[0] == "super" else base
                path = path[1:]
            return base + tuple(path)
        return base + tuple(path) if (*base, first) in self.modules else None

    def home(self, path, seen=()):
        """The module that defines what is at a path, and its name there; none if it comes from another crate."""
        known = next(n for n in range(len(path), -1, -1) if path[:n] in self.modules)
        module, rest = self.modules[path[:known]], path[known:]
        here = (path[:known], rest[0] if rest else path[-1])
        if not rest or rest[0] in module.items:
            return here
        if path in seen:
            return None
        for taken, name in module.uses:
            if name == rest[0]:
                whole = self.absolute(module, taken)
                return whole and self.home(whole + rest[1:], (*seen, path))
        for taken, name in module.uses:
            whole = self.absolute(module, taken) if name == "*" else None
            if whole and (home := self.home(whole[:-1] + rest, (*seen, path))):
                return home
        return None

    def ties(self):
        """What each module takes from each other."""
        ties = {}
        for module in self.modules.values():
            named, taken = {}, []
            words = set(re.findall(r"\w+", module.body))
            for path, name in module.uses:
                whole = self.absolute(module, path)
                if whole is None:
                    continue
                if whole in self.modules:
                    named[name] = whole
                elif name == "*":
                    other = self.modules.get(whole[:-1])
                    names = (other.items | {name for _, name in other.uses}) if other else ()
                    taken += [(*whole[:-1], one) for one in names if one in words - module.items]
                elif name in words:
                    taken.append(whole)
            for found in PATH.findall(module.body):
                path = tuple(part.strip() for part in found.split("::"))
                whole = named.get(path[0])
                whole = whole + path[1:] if whole is not None else self.absolute(module, path)
                if whole is not None:
                    taken.append(whole)
            for whole in taken:
                home, name = whole and self.home(whole) or (module.path, "")
                if home != module.path:
                    ties.setdefault(module.path, {}).setdefault(home, set()).add(name)
        return ties


def circles(ties):
    """Sets of modules of which each reaches each other."""

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            new = set(ties.get(todo.pop(), ())) - seen
            seen |= new
            todo += new
        return seen

    reach = {module: reached(module) for module in ties}
    found = {frozenset(o for o in reach[one] if one in reach.get(o, ())) for one in ties}
    return sorted((sorted(circle) for circle in found if circle), key=lambda one: (len(one), one))


def shown(path):
    return "::".join(path) or "crate"


def main(names):
    code = 0
    for folder in sorted(CRATES.iterdir()):
        if not (folder / "src").is_dir() or (names and folder.name not in names):
            continue
        ties = Crate(folder).ties()
        for circle in circles(ties):
            code = 1
            print(f"{folder.name}: a circle of {len(circle)} modules; move what they need of each other below them")
            for one in circle:
                for other in sorted(set(ties[one]) & set(circle)):
                    print(f"  {shown(one)} -> {shown(other)}: {', '.join(sorted(ties[one][other]))}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
