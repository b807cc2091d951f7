#!/usr/bin/env python3
"""Which startup is it, asked of the running kernel: `sudo samples/kernel.py FIRSTFLIGHT FOLDER`.

TCP of the kernel and our startups in BPF send through an emulated link, what passes the sender is
captured, and `replay --identify` says who it was: the table in docs/identify.md. Needs a program
with `--features linux` and takes five minutes; the kernel's clock is real, so captures made again
differ. Captures that are in FOLDER already are asked again and not made again. Right is what names
the sender alone, or with startups that would have sent the same in every round trip before the
first loss, to two packets or a hundredth.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
# Paths that nothing was chosen by.
PATHS = [
    ("rate=36Mbit,rtt=50ms,queue=1.6bdp", 8_000_000),
    ("rate=90Mbit,rtt=22ms,queue=1.8bdp", 9_000_000),
    ("rate=14Mbit,rtt=75ms,queue=2.4bdp", 5_000_000),
    ("rate=55Mbit,rtt=90ms,queue=1.2bdp", 13_000_000),
    ("rate=26Mbit,rtt=58ms,queue=1.4bdp", 6_000_000),
    ("rate=72Mbit,rtt=32ms,queue=2.5bdp", 10_000_000),
]
# What is loaded, what a socket calls it (and how the application sends), and what it is among the startups that are tried: the last two
# are senders that no startup explains.
SENDERS = [
    (None, "cubic", "hystart"),
    (None, "reno", "slowstart"),
    (None, "bbr", "kernel:bbr"),
    ("kernel:cubic(hystart=off)", "ff_no_hystart", "slowstart"),
    ("hystart++", "ff_hystartpp", "hystart++"),
    ("search", "ff_search", "search"),
    ("best", "ff_best", "best"),
    ("rapid", "ff_rapid", "rapid"),
    ("hystart++-draft03", "ff_hystartpp_ls", "hystart++-draft03"),
    ("plumb", "ff_plumb", "plumb"),
    (None, "cubic paced", None),
    (None, "cubic pieces", None),
]
SEND = 'python3 {0}/transfer.py capture "$1" & sleep 0.5; python3 {0}/transfer.py send "$2" $3; sleep 0.2; kill $!; wait $! || true'


def record(program: str, controller: str, path: tuple[str, int], file: Path) -> None:
    """One upload of the kernel, captured."""
    link = [program, "link", "--quiet", "--upload", "--path", path[0]]
    server = ["--server", f"python3 {HERE.resolve()}/transfer.py receive", "--"]
    send = ["bash", "-c", SEND.format(HERE.resolve()), "send", str(file), str(path[1]), controller]
    subprocess.run([*link, *server, *send], check=True, stdin=subprocess.DEVNULL, timeout=120)


def answer(program: str, file: Path, truth: str | None) -> str:
    """What is said of a capture, by its column."""
    asked = [program, "replay", "--identify", str(file), "--arms", "slowstart", "--json", "-"]
    # A busy machine's capture may lack packets: that is told beside the answer.
    found = json.loads(subprocess.run(asked, check=False, capture_output=True).stdout)
    identified = found["connections"][0]["identified"]
    alike = identified["alike"]
    same = [one["startup"] for one in identified["candidates"] if one["same"]]
    if not alike:
        return "unknown"
    if truth not in alike:
        return "another"
    # None of them can be told from the sender by what it sent.
    return "right" if truth in same and all(one in same for one in alike) or alike == [truth] else "several"


def captures(program: str, loaded: str | None, name: str, folder: Path) -> list[Path]:
    """One capture for each path, of this sender."""
    files = [folder / f"{name.replace(' ', '-')}-{index}.pcap" for index in range(len(PATHS))]
    missing = [(path, file) for path, file in zip(PATHS, files, strict=True) if not file.exists()]
    load = subprocess.Popen([program, "kernel", "load", loaded]) if loaded and missing else None
    try:
        known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
        while missing and name.split()[0] not in known.read_text().split():
            time.sleep(0.1)
        for path, file in missing:
            record(program, name, path, file)
    finally:
        if load:
            load.terminate()
            load.wait()
    return files


def main() -> None:
    program, folder = sys.argv[1], Path(sys.argv[2])
    print("| sender | captures | right | named among several | unknown | another named |")
    print("|---|---:|---:|---:|---:|---:|")
    for loaded, name, truth in SENDERS:
        said = [answer(program, file, truth) for file in captures(program, loaded, name, folder)]
        counts = [said.count(what) for what in ("right", "several", "unknown", "another")]
        label = loaded or f"kernel:{name}"
        print(f"| {label} | {len(said)} | {' | '.join(map(str, counts))} |")


main()
