#!/usr/bin/env python3
"""Judges a sample of the mutants of a crate without a build for each (docs/testing.md).

cargo-mutants says which mutants there are. Here every function that has one becomes a choice
between its body and its mutated bodies, in a copy of the checkout that is compiled once; the
environment variable FIRSTFLIGHT_MUTANT says which one a test program runs. A mutant that a test
notices is caught; one that all tests with all cases pass is missed. Those of
mutants-equivalent.txt, which decide as the original does, make a second score without them.
"""

import argparse
import json
import math
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "tests" / "mutants-equivalent.txt"
# Tests that read our sources: a mutant without a body lacks the comments in it, too, and nobody
# should get credit for noticing that.
UNFAIR = ["--skip", "conformance::"]
# Seconds of the first round without these.
SLOW = ["--skip", "any_history::", "--skip", "best::on_the_cold_satellite_terminal"]
# Processor time of a round: a loop that never ends is caught, a busy machine is no mutation. The
# second is eight times what all tests take.
QUICK, FULL = 40, 160
BUILD = ["--locked", "--profile", "mutants", "--message-format=json"]
SWITCH = """
/// Which mutant runs.
#[inline]
pub(crate) fn active() -> u32 {
    static ACTIVE: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *ACTIVE.get_or_init(|| {
        std::env::var("FIRSTFLIGHT_MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(0)
    })
}
"""


def lines_of(text):
    """Offset of each line, the first line at index 1."""
    starts = [0, 0]
    for match in re.finditer("\n", text):
        starts.append(match.end())
    return starts


def cut(text, starts, span):
    begin = starts[span["start"]["line"]] + span["start"]["column"] - 1
    end = starts[span["end"]["line"]] + span["end"]["column"] - 1
    return begin, end


# What may hold a brace that is none, and braces.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/
    |b?r(?P<hash>\#*)".*?"(?P=hash)|b?"(?:\\.|[^"\\])*"
    |b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])'
    |[{}]""",
    re.S | re.X,
)


def body_of(function):
    """Offset behind the brace that opens the body of a function's text."""
    opened, last = [], None
    for token in TOKEN.finditer(function):
        if token.group() == "{":
            opened.append(token.end())
        elif token.group() == "}":
            last = opened.pop()
    return last


def rewrite(text, functions):
    """The text with each function a choice; line ranges of the mutants in it, and of functions."""
    starts, out, at, places = lines_of(text), [], 0, []
    line = 1

    def emit(piece):
        nonlocal line
        out.append(piece)
        line += piece.count("\n")

    for (begin, end), mutants in sorted(functions.items()):
        function = text[begin:end]
        inner = body_of(function)
        head, body = function[:inner], function[inner:-1]
        emit(text[at:begin])
        first = line
        # Not at compile time any more.
        emit(re.sub(r"(?m)^(\s*(?:pub(?:\([a-z]+\))? )?)const fn", r"\1fn", head))
        emit("match crate::mutation::active() {")
        for mutant in mutants:
            low, high = cut(text, starts, mutant["span"])
            low, high = low - begin - inner, high - begin - inner
            emit(f"\n{mutant['id']} => {{")
            top = line
            emit(body[:low] + mutant["replacement"] + body[high:])
            emit("}")
            places.append((top, line, mutant["id"]))
            emit("\n")
        emit("_ => {" + body + "}}}")
        places.append((first, line, [mutant["id"] for mutant in mutants]))
        at = end
    emit(text[at:])
    return "".join(out), places


def write(copy, crate, mutants):
    """The sources of the copy with these mutants; where each stands."""
    folder = Path("crates") / crate / "src"
    shutil.rmtree(copy / folder)
    shutil.copytree(ROOT / folder, copy / folder)
    where = {}
    for file in {mutant["file"] for mutant in mutants}:
        text = (ROOT / file).read_text()
        starts, functions = lines_of(text), {}
        for mutant in mutants:
            if mutant["file"] == file:
                key = cut(text, starts, mutant["function"]["span"])
                functions.setdefault(key, []).append(mutant)
        new, where[file] = rewrite(text, functions)
        (copy / file).write_text(new)
    (copy / folder / "mutation.rs").write_text(SWITCH)
    library = copy / folder / "lib.rs"
    text = library.read_text()
    first = re.search(r"(?m)^(pub )?mod ", text).start()
    # What overflows is to be found by tests.
    lints = "#![allow(arithmetic_overflow, unconditional_panic)]\n"
    switch = "extern crate std;\nmod mutation;\n"
    library.write_text(lints + text[:first] + switch + text[first:])
    for place in where.values():
        place.sort(key=lambda entry: entry[1] - entry[0])
    return where, len((lints + switch).splitlines())


def compile_errors(copy, crate):
    run = subprocess.run(
        ["cargo", "check", *BUILD, "-p", crate],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    spans = []
    for line in run.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        if message.get("level") == "error":
            primary = (span for span in message["spans"] if span["is_primary"])
            spans += [(span["file_name"], span["line_start"]) for span in primary]
    if run.returncode and not spans:
        sys.exit(run.stderr)
    return spans


def programs(copy, crate):
    run = subprocess.run(
        ["cargo", "test", *BUILD, "-p", crate, "--lib", "--test", "it", "--no-run"],
        cwd=copy,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = [json.loads(line) for line in run.stdout.splitlines()]
    return [entry["executable"] for entry in found if entry.get("executable")]


def passes(program, folder, mutant, seconds, arguments, cases):
    """Runs until the first test fails; libtest has no option for that."""
    environment = os.environ | {
        "FIRSTFLIGHT_MUTANT": str(mutant),
        "CARGO_MANIFEST_DIR": str(folder),
        "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true",
    }
    if cases:
        environment["PROPTEST_CASES"] = str(cases)
    limited = f'ulimit -t {seconds} -v 8000000; exec "$@"'
    with subprocess.Popen(
        ["bash", "-c", limited, "bash", program, *arguments, *UNFAIR],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as run:
        for line in run.stdout:
            if line.rstrip().endswith("... FAILED"):
                run.kill()
                return line.split()[1]
        return None if run.wait() == 0 else f"exit status {run.returncode}"


def near(file):
    """Those that are named like the file or its folder, if there are any: they notice most."""
    parts = Path(file).with_suffix("").parts[3:]
    return [part for part in parts if part not in {"mod", "lib", "params"}]


def judge(tests, folder, mutant, file=None):
    """The test that notices the mutant, if any does."""
    rounds = [(SLOW, QUICK, 16), ([], FULL, None)]
    if file and near(file):
        rounds.insert(0, (near(file), QUICK, 16))
    for arguments, seconds, cases in rounds:
        for program in tests:
            if noticed := passes(program, folder, mutant, seconds, arguments, cases):
                return noticed
    return None


def wilson(caught, judged):
    z, share = 1.96, caught / judged
    middle, scale = share + z * z / 2 / judged, 1 + z * z / judged
    half = z * math.sqrt(share * (1 - share) / judged + z * z / 4 / judged**2)
    return 100 * (middle - half) / scale, 100 * (middle + half) / scale


def equivalents(crate, mutants):
    """Those that the file of equivalent ones has, each of which there has to be."""
    keys = {mutant["key"] for mutant in mutants}
    for row in EQUIVALENT.read_text().splitlines():
        if row.startswith(f"crates/{crate}/"):
            file, what, rest = row.split(" | ", 2)
            key = (file, what, rest.rsplit(" | ", 1)[0])
            if key not in keys:
                sys.exit(f"{EQUIVALENT.name}: there is no {' | '.join(key)}")
            yield key


def drawn(crate, count, seed, pattern):
    listed = subprocess.run(
        ["cargo", "mutants", "-p", crate, "--list", "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    mutants = json.loads(listed.stdout)
    texts = {file: (ROOT / file).read_text().splitlines() for file in {m["file"] for m in mutants}}
    for mutant in mutants:
        # What it is called whatever stands above it: file, replacement and function, line.
        line = texts[mutant["file"]][mutant["span"]["start"]["line"] - 1].strip()
        mutant["key"] = (mutant["file"], mutant["name"].split(": ", 1)[1], line)
    same = set(equivalents(crate, mutants))
    if pattern:
        chosen = [mutant for mutant in mutants if re.search(pattern, mutant["name"])]
    else:
        chosen = random.Random(seed).sample(mutants, min(count, len(mutants)))
    print(f"{crate}: {len(chosen)} of {len(mutants)} mutants, seed {seed}", flush=True)
    for number, mutant in enumerate(chosen, 1):
        mutant["id"], mutant["equivalent"] = number, mutant["key"] in same
    return chosen


def choosable(mutants):
    """Those in a function that no other encloses; the others need a build each."""
    spans = {}
    for mutant in mutants:
        if mutant.get("function"):
            span = mutant["function"]["span"]
            spans.setdefault(mutant["file"], set()).add(
                tuple(span[end][part] for end in ("start", "end") for part in ("line", "column"))
            )

    def fits(mutant):
        if not mutant.get("function") or "impl " in mutant["function"]["return_type"]:
            return False
        span = mutant["function"]["span"]
        own = tuple(span[end][part] for end in ("start", "end") for part in ("line", "column"))
        others = spans[mutant["file"]] - {own}
        return not any(other[:2] <= own[:2] and own[2:] <= other[2:] for other in others)

    return [mutant for mutant in mutants if fits(mutant)]


def compiled(crate, copy, chosen):
    """Writes the copy with as many as compile; the others: those that need a build each, and those
    that do not compile."""
    left, unviable = choosable(chosen), []
    alone = [mutant for mutant in chosen if mutant not in left]
    while True:
        where, shift = write(copy, crate, left)
        spans = compile_errors(copy, crate)
        if not spans:
            return left, alone, unviable
        gone, around = set(), set()
        for file, line in spans:
            here = line - (shift if file.endswith("/lib.rs") else 0)
            entries = (ids for low, high, ids in where.get(file, []) if low <= here <= high)
            hit = next(entries, None)
            if isinstance(hit, int):
                gone.add(hit)
            elif hit is None:
                # A function that is no longer constant, where a constant is made with it.
                text = (copy / file).read_text().splitlines()[line - 1]
                found = {mutant["id"] for mutant in left if last_name(mutant) in words(text)}
                if not found:
                    sys.exit(f"an error outside of every mutant: {file}:{line}")
                around |= found
            else:
                # In what surrounds the choice: this way of compiling cannot have the function.
                around.update(hit)
        unviable += [mutant for mutant in left if mutant["id"] in gone]
        alone += [mutant for mutant in left if mutant["id"] in around - gone]
        left = [mutant for mutant in left if mutant["id"] not in gone | around]


def words(text):
    return re.findall(r"\w+", text)


def last_name(mutant):
    return words(mutant["function"]["function_name"])[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("crate")
    parser.add_argument("--count", type=int, default=130)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--re", help="those whose name it finds instead of a sample")
    parser.add_argument("--first", type=int, default=1, help="leave out what was drawn before")
    parser.add_argument("--copy", type=Path, default=ROOT / "target" / "mutated")
    options = parser.parse_args()
    chosen = drawn(options.crate, options.count, options.seed, options.re)
    copy = options.copy
    copy.mkdir(parents=True, exist_ok=True)
    files = "git ls-files -z | tar --null -T - -c | tar -x -C "
    subprocess.run(files + shlex.quote(str(copy)), shell=True, cwd=ROOT, check=True)
    (copy / "target").mkdir(exist_ok=True)

    chosen = [mutant for mutant in chosen if mutant["id"] >= options.first]
    left, alone, unviable = compiled(options.crate, copy, chosen)

    folder, tests = copy / "crates" / options.crate, programs(copy, options.crate)
    if noticed := judge(tests, folder, 0):
        sys.exit(f"without a mutant, {noticed} fails")
    missed, equivalent, judged = [], 0, 0
    for mutant in sorted(left, key=lambda mutant: mutant["id"]):
        noticed = judge(tests, folder, mutant["id"], mutant["file"])
        judged += 1
        if noticed is None:
            missed.append(mutant)
            equivalent += mutant["equivalent"]
            how = "equivalent" if mutant["equivalent"] else "missed"
            print(f"{how} {mutant['name']}", flush=True)
        elif mutant["equivalent"]:
            sys.exit(f"{EQUIVALENT.name} has {mutant['name']}, which {noticed} notices")
        else:
            print(f"       {mutant['name']}: {noticed}", flush=True)
    for mutant in alone:
        print(f"not judged {mutant['name']}")
    for mutant in unviable:
        print(f"does not compile {mutant['name']}")
    caught = judged - len(missed)
    print(
        f"{options.crate}: caught {caught}, missed {len(missed)}, score {score(caught, judged)}; "
        f"{len(unviable)} do not compile, {len(alone)} not judged"
    )
    if equivalent:
        print(
            f"without {equivalent} that decide as the original does: "
            f"{score(caught, judged - equivalent)}"
        )


def score(caught, judged):
    low, high = wilson(caught, judged)
    return f"{100 * caught / judged:.0f} % ({low:.0f} to {high:.0f} %)"


if __name__ == "__main__":
    main()
