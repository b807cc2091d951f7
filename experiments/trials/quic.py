#!/usr/bin/env python3
"""A field test of QUIC from start to finish on this machine: `firstflight serve --trial` behind emulated links, real downloads by real
clients, arms drawn at random for each connection. Root, for the links. The request is in a TOML file next to this script.

    sudo experiments/trials/quic.py experiments/trials/prr-web.toml --out rows.jsonl

Prints what `firstflight trial analyse` says of the rows, by path, too, and leaves them in --out.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

FIRSTFLIGHT = os.environ.get("FIRSTFLIGHT", "firstflight")


def client_line(downloads, sizes):
    """One connection after the other: arms must not compete for the link. Rows come when a connection is closed for good."""
    urls = " ".join(f"https://$FIRSTFLIGHT_PEER:4433/bytes/{sizes[i % len(sizes)]}" for i in range(downloads))
    return f"{FIRSTFLIGHT} fetch --insecure {urls} >/dev/null && sleep 2"


def start(asked, path, rows):
    serve = f"exec {FIRSTFLIGHT} serve --listen $FIRSTFLIGHT_LOCAL:4433 --trial '{asked['arms']}' --unit connection --rows {rows}"
    serve += f" --iw {asked.get('iw', 10)} 2>/dev/null"
    client = client_line(asked["downloads"], asked["sizes"])
    return subprocess.Popen([FIRSTFLIGHT, "link", "-q", "--path", path, "--server", serve, "--", "sh", "-c", client])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--downloads", type=int, help="per path, instead of those of the file")
    parser.add_argument("--out", type=pathlib.Path, default=None)
    options = parser.parse_args()
    asked = tomllib.loads(options.file.read_text())
    asked["downloads"] = options.downloads or asked["downloads"]
    base = pathlib.Path(tempfile.mkdtemp(prefix="firstflight-quic-"))
    out = options.out or base / "rows.jsonl"
    # A server behind each link, with keys of its own: a connection's pseudonym is its own in any case.
    running = [(path, base / f"{number}.jsonl") for number, path in enumerate(asked["paths"])]
    failed = [link.wait() for link in [start(asked, path, rows) for path, rows in running]]
    lines = 0
    with out.open("w") as whole:
        for path, rows in running:
            for line in rows.read_text().splitlines():
                whole.write(json.dumps({**json.loads(line), "path": path}) + "\n")
                lines += 1
    print(f"{out}: {lines} rows of {len(running) * asked['downloads']} downloads", flush=True)
    analyse = [FIRSTFLIGHT, "trial", "analyse", str(out), "--baseline", asked["baseline"], "--by", "path"]
    sys.exit(subprocess.run(analyse, check=False).returncode or max(failed))


if __name__ == "__main__":
    main()
