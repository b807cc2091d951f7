"""Serves one object over TCP and captures what leaves and arrives: pcap with nanoseconds, raw IP, timestamps of the kernel."""

import socket
import struct
import sys
import threading

port, size, dump = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
SO_TIMESTAMPNS, SO_RCVBUFFORCE, ETH_P_ALL, SNAP = 35, 33, 3, 120

tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 27)
tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
over = threading.Event()


def capture():
    tap.settimeout(0.2)
    with open(dump, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP, 101))
        while not over.is_set():
            try:
                data, extras, _, address = tap.recvmsg(65536, 64)
            except TimeoutError:
                continue
            if address[0] == "lo":
                continue
            seconds, nanos = struct.unpack("<qq", extras[0][2][:16])
            out.write(struct.pack("<IIII", seconds, nanos, min(len(data), SNAP), len(data)) + data[:SNAP])


listener = socket.create_server(("", port))
taker = threading.Thread(target=capture)
taker.start()
connection, _ = listener.accept()
connection.recv(1)
connection.sendall(bytes(size))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
over.set()
taker.join()
