#!/usr/bin/env python3
"""Random hostile input for the whole program, for as long as there is time.

    tests/campaign.py PROGRAM [--seconds N] [--seed N] [KIND...]

Kinds: segments (well-formed TCP of any geometry), qlog (well-formed events of any order and size), commands (command lines), files (damaged
samples), signals (at any moment), disk (no room at any moment). Each runs for --seconds (3600; SECONDS_EACH sets it, too). What is found is
kept in target/campaign with the command that shows it, and ends the script with code 1. The same seed makes the same input.

What has to hold for every run: it ends by itself, with code 0 to 3 and in 1.5 GB of address space; nobody panics and no internal error is
reported; bad input (code 2) is one line; no file is left half-written. Commands that change the machine (kernel, link, serve, ui, watch,
trial start) are not among them: their tests are in crates/firstflight-cli/tests/real.
"""

import argparse
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
MEMORY = 3 << 29
PATIENCE = 120


class Found(Exception):
    """Something that must not happen."""


def processor_time(process):
    """Seconds that a process has used so far."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Looked:
    """A kind of input, and what came of it."""

    def __init__(self, program, kind, seed, folder):
        self.program, self.kind, self.seed, self.folder = program, kind, seed, folder
        self.codes = {}
        self.slow = 0

    def run(self, words, **how):
        """Runs the program, judges how it ended, and returns that with what it wrote."""
        try:
            return self.judged(words, **how)
        except Found as found:
            raise Found(f"{found}\n  command: {shlex.join(['firstflight', *words])}") from None

    def judged(self, words, limits=(), patience=PATIENCE, slow_is_fine=False, stop=None):
        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # What `nohup` or a shell in the background ignores, the program would ignore, too.
            for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
                signal.signal(name, signal.SIG_DFL)
            for what, value in limits:
                resource.setrlimit(what, (value, value))
                if what == resource.RLIMIT_FSIZE:
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        env = {**os.environ, "NO_COLOR": "1", "RUST_BACKTRACE": "0"}
        child = subprocess.Popen(
            [self.program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limited, env=env, cwd=self.folder
        )
        sent = None
        if stop:
            after, sent = stop
            try:
                out, err = child.communicate(timeout=after)
                sent = None
            except subprocess.TimeoutExpired:
                child.send_signal(sent)
        begun, spent = time.monotonic(), processor_time(child.pid)
        while True:
            try:
                out, err = child.communicate(timeout=patience)
                break
            except subprocess.TimeoutExpired:
                # On a busy machine a program may be given little time to end.
                used = processor_time(child.pid) - spent
                if not slow_is_fine and used < patience and time.monotonic() < begun + 10 * patience:
                    continue
            child.kill()
            child.communicate()
            self.slow += 1
            if slow_is_fine:
                return None, "", ""
            raise Found(f"did not end within {patience} s of processor time or {10 * patience} s")
        code, out, err = child.returncode, out.decode(errors="replace"), err.decode(errors="replace")
        self.codes[code] = self.codes.get(code, 0) + 1
        if sent == signal.SIGKILL:
            return code, out, err
        if "panicked at" in err or "internal error" in err:
            raise Found(f"an internal error: {err[-600:]}")
        if code < 0 and -code != sent:
            raise Found(f"ended by signal {-code}: {err[-300:]}")
        if code > 3 and not (sent and code == 128 + sent):
            raise Found(f"code {code}: {err[-300:]}")
        # Nothing asks for anything: the help, in many lines.
        if code == 2 and words and not sent and (len(err.splitlines()) != 1 or not err.startswith("firstflight: ")):
            raise Found(f"bad input in {len(err.splitlines())} lines: {err[-600:]}")
        return code, out, err

    def clean(self):
        """Nothing that was being written is left."""
        left = [name for name in os.listdir(self.folder) if name.endswith(".part") or name.startswith((".firstflight", ".tmp"))]
        if left:
            raise Found(f"left behind: {left}")


# TCP segments --------------------------------------------------------------------------------------------------------------------------

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))


def near(r, place):
    """A sequence number close to a place, at a border or anywhere."""
    step = r.choice([0, 1, 2, 536, 1448, 1460, 65_535, 1 << 20, (1 << 31) - 1, 1 << 31, r.randrange(1 << 32)])
    return (place + r.choice([-1, 0, 1]) * step + r.randint(-2, 2)) % (1 << 32)


def options(r, flags, una, nxt, clock):
    """Options of any kind that fit, each as its RFC forms it."""
    made = b""
    if flags & SYN:
        for one in (struct.pack("!BBH", 2, 4, r.choice([0, 1, 536, 1460, 9000, 65_535])), struct.pack("!BBB", 3, 3, r.randrange(256)), b"\x04\x02"):
            made += one if r.random() < 0.8 else b""
    if r.random() < 0.7:
        made += struct.pack("!BBII", 8, 10, r.choice([clock, r.randrange(1 << 32)]), r.choice([clock, 0, r.randrange(1 << 32)]))
    if flags & ACK and r.random() < 0.6:
        blocks = [(near(r, r.choice([una, nxt])), near(r, r.choice([una, nxt]))) for _ in range(r.randint(1, 4))]
        if r.random() < 0.6:
            blocks = [tuple(sorted(block)) for block in blocks]
        made += struct.pack("!BB", 5, 2 + 8 * len(blocks)) + b"".join(struct.pack("!II", *block) for block in blocks)
    if r.random() < 0.2:
        made += struct.pack("!BB", r.choice([172, 174]), 11) + r.randbytes(9)
    if r.random() < 0.1:
        size = r.randint(2, 8)
        made += struct.pack("!BB", r.choice([19, 28, 29, 30, 34, 69, 253, 254]), size) + r.randbytes(size - 2)
    made = made[:40]
    return made + b"\x01" * (-len(made) % 4)


def usual(r, flow):
    """What comes next in a download that goes well: direction, flags, sequence and ACK number, bytes, options."""
    una, nxt, step = flow["una"], flow["nxt"], flow["step"]
    flow["step"] += 1
    mss = b"\x02\x04\x05\xb4\x04\x02\x01\x01"
    if step == 0:
        return False, SYN, flow["other"] - 1, 0, 0, mss
    if step == 1:
        return True, SYN | ACK, una - 1, flow["other"], 0, mss
    if step == 2:
        return False, ACK, flow["other"], una, 0, b""
    flight = (nxt - una) % (1 << 32)
    if flight < 14_600 and r.random() < 0.7:
        flow["nxt"] = (nxt + 1460) % (1 << 32)
        return True, ACK, nxt, flow["other"], 1460, b""
    flow["una"] = (una + min(flight, r.choice([1460, 2920]))) % (1 << 32)
    return False, ACK, flow["other"], flow["una"], 0, b""


def segment(r, flow, now):
    """One packet of a connection, as it stands on a wire: IP of either version."""
    una, nxt = flow["una"], flow["nxt"]
    if r.random() >= flow["absurd"]:
        return framed(r, flow, *usual(r, flow))
    forward = r.random() < flow["forward"]
    flags = r.choice([ACK, ACK, ACK, ACK | PSH, ACK | FIN, SYN, SYN | ACK, RST, RST | ACK, r.randrange(256)])
    size = r.choice([0, 0, 1, 100, 1448, 1448, 1460, 60_000]) if forward else r.choice([0, 0, 0, 100])
    if forward:
        seq, ack = r.choice([nxt, nxt, nxt, una, near(r, nxt)]), r.choice([flow["other"], r.randrange(1 << 32)])
        if seq == nxt:
            flow["nxt"] = (nxt + size) % (1 << 32)
    else:
        seq, ack = flow["other"], r.choice([una, nxt, near(r, una), near(r, nxt)])
        if flags & ACK and (ack - una) % (1 << 32) <= (nxt - una) % (1 << 32):
            flow["una"] = ack
    return framed(r, flow, forward, flags, seq, ack, size, options(r, flags, una, nxt, int(now * 1e3) % (1 << 32)))


def framed(r, flow, forward, flags, seq, ack, size, optional):
    """The packet, and how long it was where a capture does not hold its payload."""
    ports = flow["ports"] if forward else flow["ports"][::-1]
    head = 20 + len(optional)
    tcp = struct.pack("!HHIIBBHHH", *ports, seq % (1 << 32), ack, head // 4 << 4 | r.choice([0, 0, 0, 1]), flags, r.choice([0, 1, 65_535, r.randrange(1 << 16)]), 0, 0) + optional
    # A capture need not hold the payload.
    kept = r.choice([0, 0, min(size, 20), size])
    if flow["v6"]:
        ends = flow["ends"] if forward else flow["ends"][::-1]
        ip = struct.pack("!IHBB", 6 << 28 | r.randrange(4) << 20, min(head + size, 65_535), 6, 64) + b"".join(ends)
    else:
        ends = flow["ends"] if forward else flow["ends"][::-1]
        ip = struct.pack("!BBHHHBBH", 0x45, r.randrange(4), min(20 + head + size, 65_535), r.randrange(1 << 16), r.choice([0, 0x4000]), 64, 6, 0)
        ip += b"".join(end[:4] for end in ends)
    whole = len(ip) + head + size
    return ip + tcp + b"\x00" * kept, whole


def segments(r, looked):
    files = []
    for number in range(20):
        raw = struct.pack("<IHHiIII", r.choice([0xA1B2C3D4, 0xA1B23C4D]), 2, 4, 0, 0, 262_144, 101)
        flows = [
            {
                "ports": (r.choice([443, r.randrange(1 << 16)]), r.randrange(1 << 16)),
                "ends": (r.randbytes(16), r.randbytes(16)),
                "v6": r.random() < 0.3,
                "una": (start := r.choice([0, 1, (1 << 32) - 5000, (1 << 31) - 5, r.randrange(1 << 32)])),
                "nxt": start,
                "other": r.randrange(1, 1 << 32),
                "step": 0,
                # From a download among which little is absurd to nothing else, of both ends or of the receiver alone.
                "absurd": r.choice([0.02, 0.1, 0.3, 1]),
                "forward": r.choice([0, 0.5]),
            }
            for _ in range(r.randint(1, 4))
        ]
        now = 1_700_000_000.0
        steps = r.choice([[1e-6, 1e-4, 0.01], [0, 1e-6, 1e-4, 0.01, 0.04, 1, 300, -0.001]])
        for _ in range(r.choice([30, 300, 1500])):
            now += r.choice(steps)
            packet, whole = segment(r, r.choice(flows), now)
            raw += struct.pack("<IIII", int(now) % (1 << 32), int(now % 1 * 1e6), len(packet), whole) + packet
        file = Path(looked.folder) / f"{number}.pcap"
        file.write_bytes(raw)
        files.append(file.name)
    readers(r, looked, files)


def readers(r, looked, files):
    looked.run(["replay", *files, *r.choice([[], ["--identify"], ["--json", "-"], ["--report", "r.html"]])])
    looked.run(["advise", *files, "--flows", "30"])
    looked.run(["populations", "from-traces", *files])
    looked.clean()


# qlog ----------------------------------------------------------------------------------------------------------------------------------


def number(r):
    return r.choice([0, 1, 2, r.randrange(100), r.randrange(10_000), 1200, 1 << 30, (1 << 62) - 1, (1 << 63) - 1, 0.5, 1e9, r.uniform(0, 1e6)])


def next_of(r, sent):
    """The next event of a download that goes well."""
    acked = sent[-1] if sent else 0
    if len(sent) < 10 or r.random() < 0.5:
        sent.append(len(sent))
        return "transport:packet_sent", {"header": {"packet_type": "1RTT", "packet_number": sent[-1]}, "raw": {"length": 1200}, "frames": [{"frame_type": "stream", "stream_id": 0, "offset": sent[-1] * 1150, "length": 1150}]}
    frame = {"frame_type": "ack", "ack_delay": 0.1, "acked_ranges": [[0, acked - r.randrange(5)]]}
    return "transport:packet_received", {"header": {"packet_type": "1RTT", "packet_number": len(sent)}, "frames": [frame]}


def event(r, sent, absurd):
    if r.random() >= absurd:
        return next_of(r, sent)
    kind = r.choice(["packet_sent", "packet_sent", "packet_received", "packet_received", "metrics_updated", "packet_lost", "congestion_state_updated", "parameters_set"])
    data = {}
    if kind == "packet_sent":
        sent.append(r.choice([len(sent), len(sent), number(r)]))
        data = {"header": {"packet_type": "1RTT", "packet_number": sent[-1]}, "raw": {"length": r.choice([1200, 1452, number(r)])}, "frames": [{"frame_type": "stream", "stream_id": 0, "offset": number(r), "length": number(r)}]}
    elif kind == "packet_received":
        known = sent or [0]
        ranges = [[r.choice(known), r.choice(known)] for _ in range(r.randint(1, 5))]
        if r.random() < 0.7:
            ranges = [sorted(one) for one in ranges]
        data = {"header": {"packet_type": "1RTT", "packet_number": number(r)}, "frames": [{"frame_type": "ack", "ack_delay": number(r), "acked_ranges": ranges, "ect1": 0, "ce": number(r)}]}
    elif kind == "metrics_updated":
        names = ["min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance", "congestion_window", "bytes_in_flight", "ssthresh", "packets_in_flight", "pacing_rate"]
        data = {name: number(r) for name in names if r.random() < 0.6}
    elif kind == "packet_lost":
        data = {"header": {"packet_type": "1RTT", "packet_number": r.choice(sent or [0])}, "trigger": r.choice(["reordering_threshold", "time_threshold", "pto_expired"])}
    elif kind == "congestion_state_updated":
        data = {"old": "slow_start", "new": r.choice(["slow_start", "recovery", "congestion_avoidance", "application_limited"])}
    else:
        data = {"owner": "local", "initial_max_data": number(r), "max_ack_delay": number(r), "ack_delay_exponent": r.choice([3, 20, number(r)])}
    where = "transport" if kind.startswith("packet_") and kind != "packet_lost" or kind == "parameters_set" else "recovery"
    return f"{r.choice([where, where, 'quic'])}:{kind}", data


def qlog(r, looked):
    files = []
    for index in range(20):
        now, sent, events = 0.0, [], []
        # From a download among which little is absurd to nothing else.
        absurd = r.choice([0.02, 0.1, 0.3, 1])
        steps = r.choice([[0.01, 0.1, 1], [0, 0.01, 0.1, 1, 30, 1e6, -1]])
        for _ in range(r.choice([20, 200, 1000])):
            now += r.choice(steps)
            name, data = event(r, sent, absurd)
            events.append({"time": now, "name": name, "data": data})
        about = {"vantage_point": {"type": r.choice(["server", "client", "network"])}, "common_fields": {"time_format": r.choice(["relative", "absolute", "delta"]), "reference_time": 0, "ODCID": "00"}}
        if r.random() < 0.5:
            head = {"qlog_version": r.choice(["0.3", "0.4"]), "qlog_format": "JSON", "traces": [{**about, "events": events}]}
            text = json.dumps(head)
        else:
            head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": about}
            text = "".join(f"\x1e{json.dumps(one)}\n" for one in [head, *events])
        file = Path(looked.folder) / f"{index}.qlog"
        file.write_text(text)
        files.append(file.name)
    readers(r, looked, files)


# command lines -------------------------------------------------------------------------------------------------------------------------

COMMANDS = [["compare"], ["ab"], ["advise"], ["replay"], ["diff"], ["check"], ["run"], ["reproduce"], ["evaluate"], ["conform"], ["vectors"], ["arms"], ["paths"], ["populations"]]
COMMANDS += [["populations", "describe"], ["populations", "from-traces"], ["populations", "calibrate"], ["trial", "analyse"], ["ab", "merge"], ["fetch"], ["completions"], []]
WORDS = "slowstart rapid hystart++ plumb bbr3 geo leo cdn rapid-slide 1 0 -1 10 30 1e9 1e400 NaN inf 10MB 1B 1kB 30ms 5% 100% 1/3 2/2 best json csv - . / none all tcp quic sim".split()
WORDS += ["", " ", "=", ",", "x=y", "rate=1Mbit,rtt=10ms", "rate=0,rtt=0", "slowstart/cubic/prr@(iw=30)", "slowstart(((", "a" * 3000, "é", "\u202e", "\x1b[31m", "18446744073709551616", "nosuch", "https://localhost:1/x"]
# These would use the machine's network or kernel, or run what they name.
NEVER = {"--real", "--on", "--engine", "--address"}
KNOWN = {}


def known(looked, command):
    """Options of a command, as its help lists them, and whether each takes a value."""
    key = " ".join(command)
    if key not in KNOWN:
        text = subprocess.run([looked.program, *command, "--help"], capture_output=True, text=True, check=False).stdout
        found = re.findall(r"^\s+(?:-\w, )?(--[a-z][a-z-]*)(?:[ =\[]+(<[A-Z:|a-z.-]+>)?)?", text, re.M)
        KNOWN[key] = [(name, bool(value)) for name, value in found if name not in NEVER]
    return KNOWN[key]


def commands(r, looked):
    for name, text in [("t.toml", "rate = '10Mbit'\nrtt = '30ms'\n"), ("t.csv", "arm,bytes,ttlb_ms\na,1000,5\nb,1000,6\n"), ("t.json", "{}"), ("t.bin", "\0\1\2")]:
        (Path(looked.folder) / name).write_text(text)
    values = [*WORDS, "t.toml", "t.csv", "t.json", "t.bin", "nosuch.csv"]
    for _ in range(50):
        command = r.choice(COMMANDS)
        words = list(command)
        # What would take long is made small, where it is not what is tried.
        for _ in range(r.randint(0, 5)):
            options = known(looked, command)
            kind = r.random()
            if options and kind < 0.7:
                option, takes = r.choice(options)
                words.append(option)
                if takes != (r.random() < 0.1):
                    words.append(r.choice(values))
            else:
                words.append(r.choice(values))
        if r.random() < 0.1:
            r.shuffle(words)
        # Python has no way to hand over a word with a zero byte, and no system one.
        before = set(os.listdir(looked.folder))
        code, _, _ = looked.run(words, patience=5, slow_is_fine=True)
        if code == 2 and (new := set(os.listdir(looked.folder)) - before):
            raise Found(f"bad input, and yet it wrote {new}\n  command: {shlex.join(['firstflight', *words])}")
        looked.clean()


# damaged files -------------------------------------------------------------------------------------------------------------------------


def damaged(r, raw):
    raw = bytearray(raw[: 1 << 20])
    for _ in range(r.choice([1, 2, 5, 40])):
        if not raw:
            break
        at = r.randrange(len(raw))
        what = r.randrange(6)
        if what == 0:
            raw[at] ^= 1 << r.randrange(8)
        elif what == 1:
            raw[at] = r.choice([0, 255, 10, 34, 45, 57, 123, r.randrange(256)])
        elif what == 2:
            del raw[at : at + r.choice([1, 4, 100])]
        elif what == 3:
            raw[at:at] = raw[at : at + r.choice([1, 8, 200])]
        elif what == 4:
            del raw[at:]
        else:
            raw[at:at] = r.choice([b"1e999", b"-1", b"NaN", b"null", b'"', b"[" * 300, b"\xff\xfe", b"9" * 400, b"\x1e", r.randbytes(9)])
    return bytes(raw)


def sources():
    folders = [HOME / "samples", HOME / "fuzz/seeds", HOME / "experiments", HOME / "docs/vectors"]
    return sorted(file for folder in folders for file in folder.rglob("*") if file.is_file() and file.stat().st_size < 4 << 20)


def files(r, looked):
    all_of_them = sources()
    for _ in range(20):
        file = r.choice(all_of_them)
        name = "x" + "".join(file.suffixes[-2:])
        (Path(looked.folder) / name).write_bytes(damaged(r, file.read_bytes()))
        tried = [["replay", name], ["advise", name, "--flows", "20"], ["populations", "from-traces", name], ["trial", "analyse", name], ["diff", name, name], ["check", name, "--against", name], ["ab", "merge", name]]
        tried += [["compare", "--path", name, "--bytes", "10kB"], ["ab", "--population", name, "--flows", "5"], ["run", name], ["compare", "--path", f"rate=trace:{name},rtt=30ms", "--bytes", "10kB"]]
        looked.run(r.choice(tried), patience=20, slow_is_fine=True)
        looked.clean()
        (Path(looked.folder) / name).unlink()


# signals, disks ------------------------------------------------------------------------------------------------------------------------

LONG = [["ab", "--flows", "3000000"], ["compare", "--repeat", "100000", "--bytes", "1MB"], ["evaluate", "rapid"], ["compare", "--flows", "8", "--repeat", "20000"], ["reproduce", "best"]]
SHORT = [["ab", "--flows", "50"], ["compare", "--repeat", "5", "--bytes", "100kB"], ["compare", "--bytes", "1MB"]]


def whole(file):
    """A result that is there is all there."""
    if not file.exists():
        return
    text = file.read_text()
    try:
        json.loads(text)
    except ValueError:
        raise Found(f"{file.name}: half a result, {len(text)} bytes") from None


def signals(r, looked):
    answer = Path(looked.folder) / "answer.json"
    sent = r.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
    code, _, err = looked.run([*r.choice(LONG), "--json", answer.name], stop=(r.choice([0.02, 0.3, r.uniform(0, 3)]), sent), patience=60)
    if code == 2:
        raise Found(f"nothing was begun that a signal could end: {err}")
    whole(answer)
    if sent == signal.SIGKILL:
        # The next command removes what a killed one has left.
        looked.run(["compare", "--bytes", "10kB", "--json", answer.name])
        whole(answer)
    looked.clean()
    answer.unlink(missing_ok=True)


def disk(r, looked):
    answer = Path(looked.folder) / "answer.json"
    kept = r.random() < 0.5
    if kept:
        answer.write_text('{"old": true}\n')
    room = r.choice([0, 1, 100, 4096, r.randrange(1 << 16), 1 << 20])
    code, _, err = looked.run([*r.choice(SHORT), "--json", answer.name], limits=[(resource.RLIMIT_FSIZE, room)])
    whole(answer)
    if code == 2 and kept and answer.read_text() != '{"old": true}\n':
        raise Found(f"an output that failed has replaced the old one: {err}")
    looked.clean()
    answer.unlink(missing_ok=True)


KINDS = {"segments": segments, "qlog": qlog, "commands": commands, "files": files, "signals": signals, "disk": disk}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SECONDS_EACH", 3600)))
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_intermixed_args()
    if unknown := set(asked.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    program = str(Path(asked.program).resolve())
    failed = False
    for kind in asked.kinds or KINDS:
        begun, seed, rounds = time.monotonic(), asked.seed, 0
        looked = Looked(program, kind, seed, "")
        while time.monotonic() - begun < asked.seconds:
            folder = tempfile.mkdtemp(prefix="firstflight-campaign-")
            looked.folder, looked.seed = folder, seed
            try:
                KINDS[kind](random.Random(f"{kind} {seed}"), looked)
            except Found as found:
                failed = True
                kept = HOME / "target/campaign" / f"{kind}-{seed}"
                shutil.rmtree(kept, ignore_errors=True)
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(folder, kept)
                print(f"{kind}: FOUND, seed {seed}, {kept}: {found}", flush=True)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            seed, rounds = seed + 1, rounds + 1
        if rounds > 1 and set(looked.codes) <= {2}:
            failed = True
            print(f"{kind}: FOUND only refusals: whatever is behind the first check was not tried", flush=True)
        codes = ", ".join(f"{count} with code {code}" for code, count in sorted(looked.codes.items()))
        print(f"{kind}: {rounds} rounds from seed {asked.seed} in {time.monotonic() - begun:.0f} s: {codes}; {looked.slow} cut off", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
