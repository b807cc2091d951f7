#!/usr/bin/env python3
"""A busy service under `watch` and `trial start` while hostile clients send absurd segments.

    tests/crowd.py PROGRAM [--seconds N] [--rate N] [--hostile N] [--seed N]

Honest clients open so many connections a second over the loopback of a network namespace; hostile ones live behind a TUN device, complete the
handshake, and then send segments of any geometry (tests/campaign.py makes them). Both commands must live to the end, have a whole row of every
honest connection, lose none, and keep the memory they have after a fifth of the time, or once `watch` keeps as many results as it may. Exit
code 1 if any of this fails. Needs root, a control group of version 2 and /dev/net/tun; says so and passes where that is not given.
"""

import argparse
import fcntl
import json
import math
import multiprocessing
import os
import random
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from campaign import ACK, FIN, PSH, RST, SYN, near, options, processor_time  # noqa: E402

# Each port and how many bytes it answers with. One honest connection in so many is a large one, which has the ten ACKs that a replay takes:
# `watch` keeps the results of 20 000, which at 2000 connections a second are there after 80 s. More large ones, and two processors are busy
# with making the connections.
SMALL, LARGE, HOSTILE = (7000, 4000), (7001, 50_000), (7002, 60_000)
LARGE_EVERY = 8
SERVER, DEVICE = "10.9.0.1", "ffcrowd"
# What memory may grow by once all results are there that are kept, and by each of these until then, in bytes.
GROWTH, RESULT = 8 << 20, 4 << 10


def serve(port, size):
    """Answers every connection with so many bytes and closes it, several at a time."""
    listener = socket.create_server(("0.0.0.0", port), backlog=4096)
    listener.setblocking(False)
    watched, left, data = select.epoll(), {}, b"x" * size
    watched.register(listener, select.EPOLLIN)

    def close(number):
        watched.unregister(number)
        left.pop(number)[0].close()

    while True:
        for number, event in watched.poll():
            if number == listener.fileno():
                for _ in range(64):
                    try:
                        taken, _ = listener.accept()
                    except OSError:
                        break
                    taken.setblocking(False)
                    left[taken.fileno()] = [taken, 0]
                    watched.register(taken, select.EPOLLIN | select.EPOLLRDHUP)
                continue
            one = left[number]
            try:
                if one[1] == 0:
                    if not one[0].recv(100):
                        close(number)
                        continue
                    watched.modify(number, select.EPOLLOUT)
                one[1] += one[0].send(data[one[1] :])
            except BlockingIOError:
                continue
            except OSError:
                close(number)
                continue
            if event & (select.EPOLLHUP | select.EPOLLERR) or one[1] == size:
                close(number)


def honest(rate, until, number, counts):
    """Opens `rate` connections a second from changing addresses; counts those whose answer was whole, small ones and large ones, and its processor time."""
    began, done = time.monotonic(), 0
    while (now := time.monotonic()) < until:
        if done >= (now - began) * rate:
            time.sleep(min(done / rate - (now - began), 0.05))
            continue
        port, size = LARGE if done % LARGE_EVERY == 0 else SMALL
        client = socket.socket()
        # Sixty thousand ports last half a minute, of one address.
        client.bind((f"127.{number + 1}.{done // 1000 % 250}.{done % 250 + 1}", 0))
        client.connect(("127.0.0.1", port))
        client.sendall(b"x")
        got = 0
        while piece := client.recv(65_536):
            got += len(piece)
        client.close()
        assert got == size, f"{got} of {size} bytes"
        done += 1
        counts[port == LARGE[0]] += 1
        counts[2] = time.process_time_ns()


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def packet(flow, flags, seq, ack, optional=b"", data=b"", window=60_000):
    optional += b"\1" * (-len(optional) % 4)
    ends = flow["address"] + socket.inet_aton(SERVER)
    tcp = struct.pack("!HHIIBBHHH", flow["port"], HOSTILE[0], seq % (1 << 32), ack % (1 << 32), (5 + len(optional) // 4) << 4, flags, window, 0, 0)
    tcp += optional + data
    tcp = tcp[:16] + struct.pack("!H", checksum(ends + struct.pack("!BBH", 0, 6, len(tcp)) + tcp)) + tcp[18:]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, 0) + ends
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + tcp


def absurd(r, flow):
    """A segment of an open connection, with options of any geometry."""
    una, top = flow["una"], flow["top"]
    kind = r.random()
    if kind < 0.2 and top - una > 4380:
        # A SACK block behind the first that lies below the ACK number.
        ack = una + 2920
        blocks = struct.pack("!BBIIII", 5, 18, ack, (ack + 1460) % (1 << 32), una, (una + 1460) % (1 << 32))
        return packet(flow, ACK, flow["seq"], ack, b"\1\1" + blocks)
    if kind < 0.5:
        # What a client would send: the connection goes on.
        flow["una"] = min(top, una + r.choice([1460, 2920, 14_600]))
        return packet(flow, ACK, flow["seq"], flow["una"])
    flags = r.choice([ACK, ACK, ACK, ACK | PSH, ACK | FIN, SYN, SYN | ACK, RST, r.randrange(256)])
    seq = r.choice([flow["seq"], flow["seq"], near(r, flow["seq"])])
    ack = r.choice([una % (1 << 32), top % (1 << 32), near(r, una), near(r, top)])
    data = b"y" * r.choice([0, 0, 0, 1, 1000])
    return packet(flow, flags, seq, ack, options(r, flags, una % (1 << 32), top % (1 << 32), r.randrange(1 << 32)), data, r.choice([0, 1, 60_000, 65_535]))


def hostile(count, until, seed, counts):
    """Connections behind a TUN device, each of which ends after a while in one way or another; counts them and their segments."""
    r = random.Random(seed)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22s", DEVICE.encode(), 0x1001, b""))
    for line in (f"ip addr add {SERVER}/16 dev {DEVICE}", f"ip link set {DEVICE} up"):
        subprocess.run(line.split(), check=True)

    def fresh(number):
        return {"address": bytes([10, 9, 1 + number // 200, 1 + number % 200]), "port": r.randrange(1024, 65_536), "seq": r.randrange(1 << 32), "una": None, "top": 0, "left": r.choice([1, 10, 40, 200]), "at": 0.0}

    flows = [fresh(number) for number in range(count)]
    whose = {flow["address"]: flow for flow in flows}

    def send(raw):
        try:
            os.write(device, raw)
            counts[1] += 1
        except OSError:
            pass

    while (now := time.monotonic()) < until:
        select.select([device], [], [], 0.005)
        for _ in range(500):
            try:
                raw = os.read(device, 65_536)
            except BlockingIOError:
                break
            flow = whose.get(raw[16:20])
            if raw[0] >> 4 != 4 or raw[9] != 6 or flow is None:
                continue
            port, seq, offset, flags = struct.unpack("!2xHI4xBB", raw[20:34])
            if port != flow["port"]:
                continue
            if flags & RST:
                flow.update(fresh(flows.index(flow)))
            elif flags & SYN and flow["una"] is None:
                flow.update(una=seq + 1, top=seq + 1, seq=flow["seq"] + 1)
                send(packet(flow, ACK, flow["seq"], flow["una"]))
                send(packet(flow, ACK | PSH, flow["seq"], flow["una"], b"", b"x"))
                flow["seq"] += 1
                counts[0] += 1
            elif flow["una"] is not None:
                counts[2] = time.process_time_ns()
                size = len(raw) - 20 - (offset >> 4) * 4
                # Sequence numbers wrap; these grow on.
                end = flow["top"] + (seq + size - flow["top"] + (1 << 31)) % (1 << 32) - (1 << 31)
                flow["top"] = max(flow["top"], end)
        for number, flow in enumerate(flows):
            if now < flow["at"]:
                continue
            flow["at"] = now + r.uniform(0.01, 0.1)
            if flow["una"] is None:
                flow["at"] = now + 1
                send(packet(flow, SYN, flow["seq"], 0, struct.pack("!BBH", 2, 4, 1460) + b"\4\2"))
            elif flow["left"] == 0:
                # Half of them say that they go.
                if r.random() < 0.5:
                    send(packet(flow, RST | ACK, flow["seq"], flow["una"]))
                flow.update(fresh(number))
            else:
                flow["left"] -= 1
                send(absurd(r, flow))


def memory(process):
    return next(int(line.split()[1]) << 10 for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS"))


def rows_of(file):
    """Rows of honest connections by size, how many rows there are, how many of them lack records, and how many records all lack together; a line that is
    no whole row is an error."""
    found, count, lacking, missing = {SMALL[1]: 0, LARGE[1]: 0}, 0, 0, 0
    with open(file) as lines:
        for line in lines:
            assert line.endswith("\n"), "a row is not whole"
            row, count = json.loads(line), count + 1
            lacking += (row.get("missing_records") or 0) > 0
            missing += row.get("missing_records") or 0
            # The handshake counts as a byte; of a connection that is still open little is known.
            size = (row["bytes_written"] or 0) - 1
            if size in found:
                found[size] += 1
                assert row["bytes_acked"] >= size, row
    return found, count, lacking, missing


def inside(asked, group):
    """In a namespace of its own."""
    # Each ACK is one of two segments, as on most networks: over a loopback that merges segments nothing has ten.
    subprocess.run("ip link set lo up mtu 1500 gso_max_segs 2".split(), check=True)
    # The kernel gives up a client that vanished after seconds, not after a quarter of an hour: what is open is bounded.
    settings = {"ip_local_port_range": "1024 65535", "tcp_max_tw_buckets": "500000", "tcp_retries2": "4", "tcp_orphan_retries": "3"}
    for name, value in settings.items():
        Path(f"/proc/sys/net/ipv4/{name}").write_text(value)
    Path("/proc/sys/net/core/somaxconn").write_text("4096")
    with tempfile.TemporaryDirectory(prefix="firstflight-crowd-") as folder:
        return judge(asked, group, Path(folder))


def judge(asked, group, folder):
    (group / "cgroup.procs").write_text(str(os.getpid()))
    servers = [multiprocessing.Process(target=serve, args=place, daemon=True) for place in (SMALL, LARGE, HOSTILE)]
    for server in servers:
        server.start()
    (group.parent / "cgroup.procs").write_text(str(os.getpid()))
    commands = {
        "watch": ["watch", "--cgroup", str(group), "--arms", "slowstart,hystart++,search", "--out", "watch.jsonl", "--json", "watch.json"],
        "trial": ["trial", "start", "--cgroup", str(group), "--arms", "kernel:cubic,kernel:reno", "--unit", "connection", "--out", "trial"],
    }
    said = {name: open(folder / f"{name}.err", "w+") for name in commands}
    running = {name: subprocess.Popen([asked.program, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=said[name]) for name, words in commands.items()}
    wrong, used = [], {}
    try:
        patience = time.monotonic() + 120
        while time.monotonic() < patience and not ("watching" in (folder / "watch.err").read_text() and "trial of" in (folder / "trial.err").read_text()):
            if any(child.poll() is not None for child in running.values()):
                break
            time.sleep(0.1)
        refused = [text for name in commands if "not permitted" in (text := (folder / f"{name}.err").read_text())]
        if refused:
            print(f"crowd: skipped, {refused[0].strip()}")
            return False
        began = time.monotonic()
        until = began + asked.seconds
        # Small and large connections of the honest, connections and segments of the hostile; processor time.
        counts = [multiprocessing.Array("q", 3, lock=False) for _ in range(3)]
        clients = [multiprocessing.Process(target=honest, args=(asked.rate / 2, until, number, counts[number])) for number in range(2)]
        clients.append(multiprocessing.Process(target=hostile, args=(asked.hostile, until, asked.seed, counts[2])))
        for client in clients:
            client.start()
        resident = {name: [] for name in commands}
        while time.monotonic() < until + 5 or any(client.is_alive() for client in clients):
            for name, child in running.items():
                if child.poll() is None:
                    resident[name].append(memory(child.pid))
            time.sleep(1)
        wrong += [f"a client ended with {client.exitcode}" for client in clients if client.exitcode]
        used = {"clients": (counts[0][2] + counts[1][2]) / 1e9, "hostile clients": counts[2][2] / 1e9, "servers": sum(processor_time(server.pid) for server in servers)}
        used.update((name, processor_time(child.pid)) for name, child in running.items())
    finally:
        codes = {}
        for name, child in running.items():
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
            else:
                wrong.append(f"{name} ended by itself, {child.returncode}")
        for name, child in running.items():
            codes[name] = child.wait(timeout=120)
        for server in servers:
            server.terminate()
            server.join()
    made = {size: counts[0][kind] + counts[1][kind] for kind, (_, size) in enumerate((SMALL, LARGE))}
    print(f"crowd: {sum(made.values())} honest connections in {asked.seconds:.0f} s ({sum(made.values()) / asked.seconds:.0f}/s), {counts[2][0]} hostile ones with {counts[2][1]} segments")
    each = ", ".join(f"{name} {seconds * 1e6 / max(1, sum(made.values())):.0f}" for name, seconds in used.items())
    print(f"crowd: microseconds of processor time per honest connection: {each}; together {sum(used.values()) / asked.seconds:.2f} of {os.cpu_count()} processors")
    for name, file in (("watch", "watch.jsonl"), ("trial", "trial/rows.jsonl")):
        found, count, lacking, missing = rows_of(folder / file)
        fifth = max(1, len(resident[name]) // 5)
        start, allowed = fifth, GROWTH
        if name == "watch":
            answer = json.loads((folder / "watch.json").read_text())
            kept, dropped = len(answer["connections"]), answer["records_dropped"]
            print(f"crowd: watch: results of {kept} connections kept, {answer['beyond']} beyond; {dropped} records dropped, {lacking} rows say that they lack {missing}")
            # Until as many are kept as there may be, each takes its row.
            if answer["beyond"] > 0:
                start = max(fifth, math.ceil(1.1 * len(resident[name]) * kept / (kept + answer["beyond"])))
            else:
                allowed += kept * RESULT
            # A reader that gets no processor drops records, and rows say how many their connections lack. The rest is of connections without a row: open
            # at the end, or their end itself was dropped.
            rest, rowless = dropped - missing, answer["open"] + answer["incomplete"] - lacking
            if rest < 0 or (rest > 0 and rowless == 0):
                wrong.append(f"watch: {dropped} records dropped, {missing} missing in rows, {rowless} connections without a row")
        early = resident[name][start : start + fifth] or resident[name][-1:]
        first, last = (statistics.median(part) for part in (early, resident[name][-fifth:]))
        print(f"crowd: {name}: {count} rows, {sum(found.values())} of them honest; {first / 1e6:.1f} MB of memory after {start} s, {last / 1e6:.1f} MB at the end; code {codes[name]}")
        if found != made:
            wrong.append(f"{name}: rows {found} of connections {made}")
        if last > first + allowed:
            wrong.append(f"{name}: memory grew from {first} to {last} bytes")
        text = (folder / f"{name}.err").read_text()
        # On a busy machine ACKs are merged, and a short run may have no connection that a replay takes.
        short = codes[name] == 1 and "received 10 ACKs" in text
        if (codes[name] != 0 and not short) or any(word in text for word in ("panicked", "internal error", "given up", "lost")):
            wrong.append(f"{name}: code {codes[name]}: {text[-600:]}")
    for line in wrong:
        print(f"crowd: FOUND {line}")
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda name: str(Path(name).resolve()))
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--hostile", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.within:
        sys.exit(inside(asked, Path(asked.within)))
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    roots = [Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"]
    if os.getuid() != 0 or not roots or not os.path.exists("/dev/net/tun"):
        print("crowd: skipped, needs root, a control group of version 2 and /dev/net/tun")
        return
    group = roots[0] / f"firstflight-crowd-{os.getpid()}"
    group.mkdir()
    try:
        code = subprocess.run(["unshare", "--net", sys.executable, *sys.argv, "--within", str(group)], check=False).returncode
    finally:
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)
    sys.exit(code)


if __name__ == "__main__":
    main()
