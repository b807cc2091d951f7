"""The tables of docs/referee.md: controllers of QUIC stacks and of Linux, held against the documents by `firstflight conform`.

    python3 docs/site/referee.py target/debug/firstflight [target/debug/examples/s2n_conform]
    sudo python3 docs/site/referee.py target/debug/firstflight --linux      # those of the running kernel alone
"""

import json
import subprocess
import sys

RULES = {
    "initial_window": "initial window",
    "slow_start": "growth in slow start",
    "unused_window": "an unused window does not grow",
    "exit": "end of slow start without loss",
    "reduction": "reduction on loss",
    "recovery": "window in recovery",
    "avoidance": "growth in congestion avoidance",
    "timeout": "timeout or persistent congestion",
    "undo": "undo of a false alarm",
}


def held(program: str, controller: str, against: str) -> dict:
    """What `conform` finds on its three connections."""
    words = [program, "conform", controller, "--against", against, "--json", "-"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def cell(answer: dict, rule: str) -> str:
    """How a rule was answered: `yes`, or how many events differ; nothing where none put it to the test."""
    rows = [row for one in answer["connections"] for row in one["rules"] if row["rule"] == rule]
    events = sum(row["events"] for row in rows)
    differ = sum(row["differ"] for row in rows)
    if events == 0:
        return ""
    return f"yes, {events}" if differ == 0 else f"**{differ} of {events} differ**"


def apart(answer: dict) -> str:
    """After how many of the ACKs the windows were apart."""
    acks = sum(one["acks"] for one in answer["connections"])
    apart = sum(one["acks_apart"] for one in answer["connections"])
    return f"{apart} of {acks}"


def moved(rule: str, side: dict) -> str:
    """A window before and after; of a reduction that takes a round trip, what it aims at."""
    before, after, ssthresh = side["cwnd_before"], side["cwnd"], side["ssthresh"]
    if rule == "reduction" and ssthresh is not None and ssthresh not in (after, before) and ssthresh < before:
        return f"{before} towards {ssthresh}"
    return f"{before} to {after}"


def first(answer: dict, rule: str) -> str | None:
    """The first difference of a rule, in a line."""
    for one in answer["connections"]:
        for row in one["rules"]:
            if row["rule"] == rule and row["first"] and row["first"]["on_its_own"]:
                step = row["first"]["step"]
                theirs, ours = step["theirs"], step["ours"]
                return (
                    f"`{one['path']}`, ACK {step['ack']} at {step['at_ms']:.1f} ms, {step['acked_bytes']} bytes acknowledged and "
                    f"{step['lost_bytes']} lost, phase {step['phase']}: theirs {moved(rule, theirs)}, ours {moved(rule, ours)} ({row['section']})"
                )
    return None


def table(program: str, title: str, against: str, controllers: dict[str, str]) -> None:
    """One table, and the first time of each difference."""
    answers = {name: held(program, controller, against) for name, controller in controllers.items()}
    print(f"### {title}\n\nHeld against `{against}`: `firstflight conform CONTROLLER --against {against}`.\n")
    print("| rule | " + " | ".join(answers) + " |")
    print("|---|" + "---|" * len(answers))
    for rule, name in RULES.items():
        cells = [cell(answer, rule) for answer in answers.values()]
        if any(cells):
            print(f"| {name} | " + " | ".join(cells) + " |")
    print("| ACKs after which the windows are more than a packet apart | " + " | ".join(map(apart, answers.values())) + " |\n")
    for name, answer in answers.items():
        for rule in RULES:
            if found := first(answer, rule):
                print(f"* {name}, {RULES[rule]}: {found}")
    print()


def linux(program: str) -> None:
    """Tables of the running kernel: its own, with the recovery that all of them have, and ours in BPF."""
    recovery = "prr(mode=linux)"
    cubic = f"cubic(profile=linux)/{recovery}"
    table(program, "Linux: CUBIC with its HyStart", f"hystart/{cubic}", {"Linux": "kernel:cubic", "ours in BPF": "kernel:hystart"})
    table(program, "Linux: CUBIC without HyStart", f"slowstart/{cubic}", {"Linux": "kernel:cubic(hystart=off)"})
    table(program, "Linux: Reno", f"slowstart/reno/{recovery}", {"Linux": "kernel:reno"})


def main() -> None:
    """All tables."""
    program, *s2n = sys.argv[1:]
    if s2n == ["--linux"]:
        linux(program)
        return
    cubic = {"noq": "noq:cubic", "quinn": "quinn:cubic"}
    table(program, "CUBIC", "slowstart/cubic/immediate", cubic)
    reno = {"noq": "noq:newreno", "quinn": "quinn:newreno"}
    table(program, "NewReno", "slowstart/reno/immediate", reno)
    for example in s2n:
        table(program, "CUBIC with hybrid slow start", "hystart/cubic/immediate", {"s2n-quic": f"exec:{example}"})
    planted = "slowstart/cubic(beta=0.595)/immediate"
    table(program, "A planted cut, and no difference", "slowstart/cubic/immediate", {"cut to 0.595": planted, "ours itself": "slowstart/cubic/immediate"})


if __name__ == "__main__":
    main()
