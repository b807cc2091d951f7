"""Makes `connections.csv.gz`: a field test that never was, with a known answer.

    firstflight ab --population cdn --flows 6000 --baseline slowstart --arms rapid --out flows.csv
    python3 samples/connections.py flows.csv samples/connections.csv.gz

The simulator ran both arms on every path. A connection keeps only the arm that its client would
have drawn, as a server's log would; a client has 1 to 60 connections on paths of one group. What
both arms did to all of them is known, too: `firstflight ab` says it.
"""

import csv
import gzip
import random
import sys


def clients(rows):
    """Gives each path of a group to a client; how many one has is Pareto with index 1.3."""
    draw = random.Random(1)
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(int(row["path_index"]))
    owner, count = {}, 0
    for group in groups.values():
        paths = sorted(set(group))
        draw.shuffle(paths)
        while paths:
            count += 1
            for _ in range(min(int(draw.paretovariate(1.3)), 60, len(paths))):
                owner[paths.pop()] = count
    return owner, {client: draw.random() < 0.3 for client in range(1, count + 1)}


def main(flows, table):
    with open(flows, newline="") as file:
        rows = list(csv.DictReader(file))
    owner, treated = clients(rows)
    kept = []
    for row in rows:
        client = owner[int(row["path_index"])]
        if (row["arm"] == "rapid") == treated[client]:
            kept.append((int(row["path_index"]), client, row))
    random.Random(2).shuffle(kept)
    with gzip.GzipFile(table, "wb", mtime=0) as packed:
        head = "start,client,arm,bytes,rtt_ms,ttlb_ms,segments,retransmitted,timeouts,complete\n"
        packed.write(head.encode())
        for second, (_, client, row) in enumerate(kept):
            cells = [
                second * 3,
                f"c{client}",
                row["arm"],
                row["object_bytes"],
                f"{float(row['rtt_ms']):.1f}",
                f"{float(row['ttlb_ms']):.1f}" if row["ttlb_ms"] else "",
                row["sent_packets"],
                row["retransmissions"],
                row["rtos"],
                row["complete"],
            ]
            packed.write((",".join(map(str, cells)) + "\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
