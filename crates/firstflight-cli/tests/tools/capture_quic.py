"""Runs a command and captures QUIC of this machine with itself: capture_quic.py DUMP COMMAND...

The command runs in a network namespace of its own, so that the capture holds no packets of other programs. A relay between the ends makes
each packet pass more than once. The dump keeps what passes between the server and the relay: a handshake gets there last. Format: pcap with
nanoseconds, raw IP, timestamps of the kernel.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading

dump, *command = sys.argv[1:]
SO_TIMESTAMPNS, SO_RCVBUFFORCE, ETH_P_ALL, UDP = 35, 33, 3, 17
CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8914, 1

libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(CLONE_NEWNET):
    sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))

tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
tap.bind(("lo", ETH_P_ALL))
tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 28)
tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
tap.settimeout(0.2)
over = threading.Event()
# Packets between two ports, in their order.
between: dict[frozenset[int], list[tuple[int, int, bytes]]] = {}


def capture() -> None:
    while True:
        try:
            data, extras, _, address = tap.recvmsg(1 << 16, 64)
        except TimeoutError:
            if over.is_set():
                return
            continue
        # Not once more where it arrives.
        if address[2] == socket.PACKET_OUTGOING and data[0] >> 4 == 4 and data[9] == UDP:
            ports = frozenset(struct.unpack("!HH", data[20:24]))
            between.setdefault(ports, []).append((*struct.unpack("=qq", extras[0][2][:16]), data))


def begins(packets: list[tuple[int, int, bytes]]) -> bool:
    """With a handshake of version 1."""
    return packets[0][2][28] >= 0x80 and packets[0][2][29:33] == b"\0\0\0\1"


taker = threading.Thread(target=capture)
taker.start()
code = subprocess.run(command, check=False).returncode
over.set()
taker.join()
if code:
    sys.exit(code)
kept = max(filter(begins, between.values()), key=lambda packets: packets[0][:2])
with open(dump, "wb") as out:
    out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 16, 101))
    for seconds, nanos, data in kept:
        out.write(struct.pack("<IIII", seconds, nanos, len(data), len(data)) + data)
