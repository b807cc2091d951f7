"""The tables of docs/referee.md: controllers of QUIC stacks and of Linux, checked against the specifications by
`firstflight conform`. The tables are between markers; everything else on the page is written by hand.

    python3 docs/site/referee.py target/debug/firstflight [target/debug/examples/s2n_conform]
    sudo python3 docs/site/referee.py target/debug/firstflight --linux      # those of the running kernel alone
"""

import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).parent.parent / "referee.md"

RULES = {
    "initial_window": "initial window",
    "slow_start": "growth in slow start",
    "unused_window": "an unused window does not grow",
    "exit": "end of slow start without loss",
    "reduction": "reduction on loss",
    "recovery": "window in recovery",
    "avoidance": "growth in avoidance, per RTT",
    "epoch": "growth in avoidance, per epoch",
    "timeout": "timeout or persistent congestion",
    "undo": "undo of a false alarm",
}


def held(program: str, controller: str, against: str) -> dict:
    """The result of `conform` on its four connections."""
    words = [program, "conform", controller, "--against", against, "--json", "-"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def cell(answer: dict, rule: str) -> str:
    """The verdict on a rule: `yes`, or the number of events that differ; empty if no event tested it."""
    rows = [row for one in answer["connections"] for row in one["rules"] if row["rule"] == rule]
    events = sum(row["events"] for row in rows)
    differ = sum(row["differ"] for row in rows)
    if events == 0:
        return ""
    return f"yes, {events}" if differ == 0 else f"**{differ} of {events} differ**"


def blind(answer: dict) -> list[str]:
    """Rules whose largest step on any connection is within the tolerance: they cannot fail."""
    rows = [row for one in answer["connections"] for row in one["rules"]]
    return [name for rule, name in RULES.items() if (of := [row for row in rows if row["rule"] == rule]) and not any(row["can_fail"] for row in of)]


def apart(answer: dict) -> str:
    """The number of ACKs after which the windows were apart."""
    acks = sum(one["acks"] for one in answer["connections"])
    apart = sum(one["acks_apart"] for one in answer["connections"])
    return f"{apart} of {acks}"


def moved(rule: str, side: dict) -> str:
    """A window before and after an event; for a reduction that takes a round trip, its target."""
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


def table(program: str, title: str, against: str, controllers: dict[str, str]) -> str:
    """One table, and the first time of each difference."""
    answers = {name: held(program, controller, against) for name, controller in controllers.items()}
    lines = [f"### {title}\n\nCompared with `{against}`: `firstflight conform CONTROLLER --against {against}`.\n"]
    lines += ["| rule | " + " | ".join(answers) + " |", "|---|" + "---|" * len(answers)]
    for rule, name in RULES.items():
        cells = [cell(answer, rule) for answer in answers.values()]
        if any(cells):
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines.append("| ACKs after which the windows are more than a packet apart | " + " | ".join(map(apart, answers.values())) + " |\n")
    for name, answer in answers.items():
        for rule in RULES:
            if found := first(answer, rule):
                lines.append(f"* {name}, {RULES[rule]}: {found}")
        if names := blind(answer):
            lines.append(f"* {name}: on these connections no step is above the tolerance, so this cannot fail: {', '.join(names)}")
    return "\n".join(lines) + "\n"


def linux(program: str) -> list[str]:
    """Tables of the running kernel: its own controllers, with their common recovery, and ours in BPF."""
    recovery = "prr(mode=linux)"
    cubic = f"cubic(profile=linux)/{recovery}"
    return [
        table(program, "Linux: CUBIC with its HyStart", f"hystart/{cubic}", {"Linux": "kernel:cubic", "ours in BPF": "kernel:hystart"}),
        table(program, "Linux: CUBIC without HyStart", f"slowstart/{cubic}", {"Linux": "kernel:cubic(hystart=off)"}),
        table(program, "Linux: Reno", f"slowstart/reno/{recovery}", {"Linux": "kernel:reno"}),
    ]


def stacks(program: str, s2n: list[str]) -> list[str]:
    """Tables of QUIC stacks."""
    cubic = {"noq": "noq:cubic", "quinn": "quinn:cubic"}
    reno = {"noq": "noq:newreno", "quinn": "quinn:newreno"}
    planted = {"factor 0.595": "slowstart/cubic(beta=0.595)/immediate", "our CUBIC": "slowstart/cubic/immediate"}
    return [
        table(program, "CUBIC", "slowstart/cubic/immediate", cubic),
        table(program, "NewReno", "slowstart/reno/immediate", reno),
        *(table(program, "CUBIC with hybrid slow start", "hystart/cubic/immediate", {"s2n-quic": f"exec:{example}"}) for example in s2n),
        table(program, "Control: our CUBIC with a wrong factor, and our own CUBIC", "slowstart/cubic/immediate", planted),
    ]


def put(name: str, tables: list[str]) -> None:
    """Replaces the text between the markers of that name."""
    page = PAGE.read_text()
    begin, end = f"<!-- tables of {name} -->\n", f"<!-- end of the tables of {name} -->\n"
    head, rest = page.split(begin)
    _, tail = rest.split(end)
    PAGE.write_text(head + begin + "\n" + "\n".join(tables) + "\n" + end + tail)


def main() -> None:
    """All tables of one kind."""
    program, *s2n = sys.argv[1:]
    if s2n == ["--linux"]:
        put("Linux", linux(program))
    else:
        put("stacks", stacks(program, s2n))


if __name__ == "__main__":
    main()
