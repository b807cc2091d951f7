"""Fetches the object and says how large it was."""

import socket
import sys

connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
connection.sendall(b"?")
total = 0
while piece := connection.recv(1 << 20):
    total += len(piece)
print(total)
