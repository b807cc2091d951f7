#!/usr/bin/env python3
"""Our reading of captures beside tshark's: `tests/tshark.py FIRSTFLIGHT FOLDER... [> TABLE.md]`.

Prints a Markdown table: per capture with a connection that `replay` takes, acknowledged bytes, the
smallest and the median RTT and the retransmitted bytes of its connections, ours and tshark's, and the
cause of each difference. Captures of which every connection is refused are listed with the reason.
Names count from each FOLDER's parent. Exit code 1: a difference that nothing in the capture explains.

An RTT is one of the newest segment that an ACK is the first to acknowledge, all or in part, if none that it
acknowledges was sent twice: tshark dissects, and this script subtracts, since tshark itself measures
only ACKs that end with a segment.
"""

import hashlib
import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

SUFFIXES = (".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz", ".cap.gz")
FIELDS = (
    "frame.time_epoch ip.src ipv6.src tcp.srcport ip.dst ipv6.dst tcp.dstport tcp.stream tcp.seq tcp.len "
    "tcp.ack tcp.flags.fin tcp.flags.ack tcp.flags.reset tcp.analysis.retransmission tcp.analysis.keep_alive tcp.analysis.zero_window_probe tcp.analysis.out_of_order tcp.options.sack_le tcp.analysis.spurious_retransmission"
).split()
# Short connections show nothing; `replay` leaves them out.
LEAST = 15_000
# As tshark 4.0 and later print a flag.
TRUE = ("1", "True")


def ours(program: str, file: Path) -> tuple[list[dict], str]:
    """Connections as replay has them, and what it says of those it refuses."""
    asked = [program, "replay", "--arms", "slowstart", "--json", "-", str(file)]
    done = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False)
    # What was cut short is told beside what was read.
    if done.stdout:
        return [one for one in json.loads(done.stdout)["connections"] if one["transport"] == "tcp"], ""
    return [], done.stderr.strip().removeprefix(f"firstflight: {file}: ")


class Stream:
    """One direction of a connection, as tshark has it."""

    def __init__(self) -> None:
        self.highest = 0
        self.acked = 0
        self.finished: int | None = None
        self.again = 0
        self.reordered = 0
        self.sacked = False
        self.spurious = False
        self.reset = False
        self.revived = False
        # Pieces that are out: begin, end, time; no time once they were sent again.
        self.out: list[tuple[int, int, float | None]] = []
        self.rtts: list[float] = []

    def send(self, sequence: int, length: int, now: float) -> None:
        """A segment with data left."""
        if sequence < self.highest:
            self.out = [(begin, end, None if end > sequence else at) for begin, end, at in self.out]
        else:
            self.out.append((sequence, sequence + length, now))
        self.highest = max(self.highest, sequence + length)

    def acknowledge(self, ack: int, now: float) -> None:
        """An ACK came: perhaps of a part of what segmentation offload sent at once."""
        if ack <= self.acked:
            return
        self.acked = ack
        covered = [at for begin, _, at in self.out if begin < ack]
        self.out = [(max(begin, ack), end, at) for begin, end, at in self.out if end > ack]
        if covered and all(at is not None for at in covered) and now > covered[-1]:
            self.rtts.append((now - covered[-1]) * 1e3)

    def bytes(self) -> int:
        """Acknowledged, without SYN and FIN."""
        end = self.acked - 1 if self.finished is not None and self.acked > self.finished else self.acked
        # tshark counts from 1 on, the SYN or what comes first.
        return max(end - 1, 0)


def theirs(file: Path) -> dict[str, list[Stream]]:
    """Streams by `from > to`, in the order of the file."""
    wanted = [part for field in FIELDS for part in ("-e", field)]
    # Its dissector of VNC takes minutes for a megabyte.
    asked = ["tshark", "-n", "--disable-protocol", "vnc", "-r", str(file), "-Y", "tcp && !icmp && !icmpv6", "-T", "fields", "-E", "occurrence=l", *wanted]
    done = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False)
    streams: dict[tuple[str, str], Stream] = {}
    found: dict[str, list[Stream]] = defaultdict(list)
    for line in done.stdout.splitlines():
        row = dict(zip(FIELDS, line.split("\t"), strict=False))
        if not row.get("tcp.seq") or not row.get("tcp.len"):
            continue
        source, target = row["ip.src"] or f"[{row['ipv6.src']}]", row["ip.dst"] or f"[{row['ipv6.dst']}]"
        source, target = f"{source}:{row['tcp.srcport']}", f"{target}:{row['tcp.dstport']}"
        for one, other in ((source, target), (target, source)):
            if (row["tcp.stream"], one) not in streams:
                streams[row["tcp.stream"], one] = Stream()
                found[f"{one} > {other}"].append(streams[row["tcp.stream"], one])
        here, back = streams[row["tcp.stream"], source], streams[row["tcp.stream"], target]
        now, sequence, length = float(row["frame.time_epoch"]), int(row["tcp.seq"]), int(row["tcp.len"])
        if length and not (row["tcp.analysis.keep_alive"] or row["tcp.analysis.zero_window_probe"]):
            here.send(sequence, length, now)
            here.again += length if row["tcp.analysis.retransmission"] else 0
            here.spurious |= bool(row.get("tcp.analysis.spurious_retransmission"))
            here.reordered += length if row["tcp.analysis.out_of_order"] else 0
        if row["tcp.flags.fin"] in TRUE:
            here.finished = sequence + length
        back.sacked |= bool(row.get("tcp.options.sack_le"))
        # What closes a connection may acknowledge its last bytes, or may be made up.
        told = int(row["tcp.ack"])
        if row["tcp.flags.ack"] in TRUE and (row["tcp.flags.reset"] not in TRUE or told <= back.highest + 1):
            back.revived |= back.reset and told > back.acked
            back.acknowledge(told, now)
        if row["tcp.flags.reset"] in TRUE:
            here.reset = back.reset = True
    return found


def alike(one: float | None, other: float | None, ratio: float, least: float) -> bool:
    """Within the ratio or the least difference that counts."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= max(ratio * abs(other), least)


def retransmitted(connection: dict) -> int:
    """Bytes, from the share of what was sent."""
    share = connection["loss_ratio"] or 0.0
    return round(connection["bytes"] * share / max(1.0 - share, 1e-9))


def explained(connection: dict, stream: Stream, differs: list[str]) -> list[str]:
    """What in the capture makes the two readings differ."""
    capture = connection["capture"] or {}
    causes = []
    if not capture.get("begins", True):
        causes.append("began before the capture")
    for key, words in (
        ("doubled", "captured twice"),
        ("out_of_order", "out of order in the file"),
        ("unseen_bytes", "bytes that were not captured"),
        ("clock_steps", "the clock steps"),
    ):
        if capture.get(key):
            causes.append(words)
    if capture.get("added_ms") and "RTT" in " ".join(differs):
        causes.append("the half before the capture is added")
    if stream.reordered and "retransmitted" in differs:
        causes.append("tshark calls retransmissions out of order")
    if stream.spurious and "retransmitted" in differs:
        causes.append("retransmitted after its ACK")
    if stream.revived and "bytes" in differs:
        causes.append("acknowledged after a reset")
    if stream.sacked and "RTT" in " ".join(differs):
        causes.append("SACK told first")
    if not stream.rtts and "RTT" in " ".join(differs):
        causes.append("tshark has no sample")
    return causes


def compare(connections: list[dict], streams: dict[str, list[Stream]]) -> tuple[list, list[str], list[str]]:
    """The numbers of a capture, what differs, why."""
    rows, differs, causes = [], [], []
    for one in connections:
        name = re.findall(r"\S+ > \S+", one["name"])[-1]
        waiting = streams.get(name, [])
        # The same ports again: the one with the nearest bytes.
        stream = min(waiting, key=lambda known: abs(known.bytes() - one["bytes"]), default=None)
        if stream is None:
            differs.append("tshark has no such connection")
            continue
        rtts = stream.rtts
        low, middle = (min(rtts), statistics.median(rtts)) if rtts else (None, None)
        # Between two values in the middle any is a median.
        if rtts and one["rtt_p50_ms"] is not None:
            middle = min(max(one["rtt_p50_ms"], statistics.median_low(rtts)), statistics.median_high(rtts))
        again = retransmitted(one)
        here = []
        if not alike(one["bytes"], stream.bytes(), 0.0, 1):
            here.append("bytes")
        if one["min_rtt_ms"] is not None and not alike(one["min_rtt_ms"], low, 0.01, 0.01):
            here.append("smallest RTT")
        if one["rtt_p50_ms"] is not None and not alike(one["rtt_p50_ms"], middle, 0.01, 0.01):
            here.append("median RTT")
        # Of a share, which counts what was sent and never acknowledged, too.
        if not alike(again, stream.again, 0.05, 1):
            here.append("retransmitted")
        differs += [what for what in here if what not in differs]
        causes += [cause for cause in (explained(one, stream, here) if here else []) if cause not in causes]
        if here and not explained(one, stream, here):
            causes.append("?")
            print(f"{one['name']}: {', '.join(here)}; {one['acks']} ACKs, {len(rtts)} RTTs of tshark", file=sys.stderr)
        rows.append((one["bytes"], stream.bytes(), one["min_rtt_ms"], low, one["rtt_p50_ms"], middle, again, stream.again))
    return rows, differs, causes


def number(value: float | None) -> str:
    """Three digits after the point."""
    return "–" if value is None else f"{value:.3f}"


def main() -> int:
    program, *folders = sys.argv[1:]
    seen, faults, count, refused = set(), 0, 0, []
    print("| capture | connections | bytes | tshark | RTT ms | tshark | median ms | tshark | retransmitted | tshark | differs | cause |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|")
    for folder in map(Path, folders):
        for file in sorted(folder.rglob("*")):
            if not file.name.endswith(SUFFIXES) or not file.is_file() or file.stat().st_size < LEAST // 10:
                continue
            digest = hashlib.sha256(file.read_bytes()).digest()
            if digest in seen:
                continue
            seen.add(digest)
            connections, why = ours(program, file)
            name = file.relative_to(folder.parent)
            if not connections:
                if "receiver" in why or "middle" in why:
                    refused.append((name, why))
                continue
            rows, differs, causes = compare(connections, theirs(file))
            count += 1
            faults += "?" in causes or (bool(differs) and not causes)
            total = [sum(row[index] for row in rows) for index in (0, 1, 6, 7)]
            # The RTTs are those of the largest.
            large = max(rows, default=(0, 0, None, None, None, None, 0, 0))
            cells = [name, len(rows), total[0], total[1], *map(number, large[2:6]), total[2], total[3]]
            print("|", " | ".join(map(str, cells)), "|", ", ".join(differs), "|", ", ".join(causes), "|", flush=True)
    print(f"\n{count} captures beside tshark, {faults} with a difference that nothing in the capture explains; {len(refused)} refused:\n")
    for name, why in refused:
        print(f"* {name}: {why.splitlines()[0] if why else ''}")
    return int(faults > 0)


sys.exit(main())
