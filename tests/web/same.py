#!/usr/bin/env python3
"""Same plan, same bytes: the engine of the playground against the program, on random plans.

    tests/web/same.py PROGRAM ENGINE [PLANS [FIRST]]
"""

import json
import pathlib
import subprocess
import sys

from plans import answer, command, native, plan, request

HERE = pathlib.Path(__file__).resolve().parent


def main(program, engine, plans=40, first=0):
    node = subprocess.Popen(["node", "--no-warnings", HERE / "engine.mjs", engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(line):
        print(line, file=node.stdin, flush=True)
        return json.loads(node.stdout.readline())

    facts = json.loads(ask('{"do": "facts"}')["text"])
    for sample in sorted((HERE.parents[1] / "samples").glob("**/*.gz")) + [HERE / "engine.mjs"]:
        told = ask(json.dumps({"do": "replay", "name": str(sample), "file": str(sample)}))
        expected = answer([program, "replay", str(sample), "--json", "-"])
        if told != expected:
            print(f"same.py: the replay of {sample} differs:\n{expected['text'][:1000]}\n{told['text'][:1000]}", file=sys.stderr)
            return 1
    answered = 0
    for number in range(int(first), int(first) + int(plans)):
        made = plan(facts, number)
        told, expected = ask(request(made)), native(program, made)
        if told != expected:
            print(f"same.py: plan {number} differs: {command(program, made)}", file=sys.stderr)
            print(f"the program: {expected['text'][:2000]}\nthe engine: {told['text'][:2000]}", file=sys.stderr)
            return 1
        answered += told["ok"]
    node.stdin.close()
    node.wait()
    if answered < int(plans) * 0.6:
        print(f"same.py: only {answered} of {plans} plans were answered, the others refused", file=sys.stderr)
        return 1
    print(f"web: {plans} plans, the same bytes from program and engine ({answered} answers, {int(plans) - answered} refusals)")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
