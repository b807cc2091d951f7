#!/usr/bin/env python3
"""The ends of a transfer, and a capture of it, for make.sh.

transfer.py receive          take what comes, to its end
transfer.py send BYTES CC    send so many bytes to the peer, with this congestion controller
transfer.py send BYTES CC paced|pieces
                             the same at 8 Mbit/s at most, or in pieces of 100 kB with pauses of 100 ms
transfer.py capture FILE     write the headers of every packet as a pcap
transfer.py join FILE...     several captures as one, to standard output
"""

import os
import signal
import socket
import struct
import sys
import time

PORT = 5001
SNAP = 80  # IPv4 header, TCP header, and all options
HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAP, 101)


def receive() -> None:
    listener = socket.create_server(("", PORT))
    while True:
        connection, _ = listener.accept()
        while connection.recv(1 << 16):
            pass
        connection.close()


def send(size: int, controller: str, how: str = "") -> None:
    so_max_pacing_rate = 47
    with socket.socket() as connection:
        # Before it connects: the machine's default may be one that paces, and a socket that has been paced stays so.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
        if how == "paced":
            connection.setsockopt(socket.SOL_SOCKET, so_max_pacing_rate, 1_000_000)
        connection.connect((os.environ["FIRSTFLIGHT_PEER"], PORT))
        piece = 100_000 if how == "pieces" else size
        for _ in range(0, size, piece):
            connection.sendall(bytes(piece))
            if piece < size:
                time.sleep(0.1)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def capture(file: str) -> None:
    everything = 3
    stamps = 35
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(everything))
    sniffer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
    sniffer.setsockopt(socket.SOL_SOCKET, stamps, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(file, "wb", buffering=0) as out:
        out.write(HEADER)
        while True:
            data, extra, _, (device, protocol, *_) = sniffer.recvmsg(1 << 16, 256)
            if protocol != 0x0800 or device == "lo":
                continue
            seconds, nanos = struct.unpack("qq", extra[0][2]) if extra else divmod(time.time_ns(), 10**9)
            head = data[:SNAP]
            out.write(struct.pack("<IIII", seconds, nanos // 1000, len(head), len(data)) + head)


def join(files: list[str]) -> None:
    out = sys.stdout.buffer
    out.write(HEADER)
    for file in files:
        with open(file, "rb") as part:
            out.write(part.read()[len(HEADER) :])


what, *rest = sys.argv[1:]
if what == "receive":
    receive()
elif what == "send":
    send(int(rest[0]), *rest[1:])
elif what == "capture":
    capture(rest[0])
else:
    join(rest)
