#!/usr/bin/env python3
"""A field test from start to finish on this machine: a real web server in a control group, real downloads by real clients through emulated
links, arms drawn at random. Root; Linux with control groups of version 2; nginx, or python3's http.server with --server python.

    sudo experiments/trials/trial.py --arms kernel:cubic,kernel:cubic(hystart=off) --path geo,return=geo_cold --size 10MB --downloads 200

Prints what `firstflight trial analyse` says of the rows, and leaves them in --out.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FIRSTFLIGHT = os.environ.get("FIRSTFLIGHT", "firstflight")
UNITS = {"kB": 1000, "MB": 1000_000}

NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{ access_log off; sendfile on; keepalive_timeout 0; server {{ listen {address}:8080; root {folder}; }}
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5; }}
"""


def bytes_of(text):
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * factor)
    return int(text)


def mount_of_groups():
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return pathlib.Path(folder)
    sys.exit("no control groups of version 2 are mounted: mount -t cgroup2 none FOLDER")


def server_line(options, group, folder):
    """Joins the group before it listens: its listener has to be born there."""
    join = f"echo $$ > {group}/cgroup.procs"
    if options.server == "python":
        serve = f"exec python3 -m http.server 8080 --bind $FIRSTFLIGHT_LOCAL --directory {folder} >/dev/null 2>&1"
    else:
        # One configuration for each link: they run side by side.
        conf = NGINX.format(folder=folder, address="10.77.0.1")
        (folder / "nginx.conf").write_text(conf)
        serve = f"exec nginx -c {folder}/nginx.conf -p {folder}"
    return f"{join}; {serve}"


def client_line(options, downloads):
    """One after the other: arms must not compete for the link."""
    one = "curl -s -o /dev/null http://$FIRSTFLIGHT_PEER:8080/object || exit 1"
    return f"for i in $(seq {downloads}); do {one}; sleep {options.pause}; done; sleep 2"


def links(options, group, base):
    """Starts all links with their servers and clients."""
    started = []
    share = [options.downloads // options.links + (i < options.downloads % options.links) for i in range(options.links)]
    for number, downloads in enumerate(share):
        folder = base / f"link{number}"
        folder.mkdir(mode=0o755)
        (folder / "object").write_bytes(bytes(bytes_of(options.size)))
        command = [FIRSTFLIGHT, "link", "-q", "--path", options.path, "--server", server_line(options, group, folder)]
        started.append(subprocess.Popen([*command, "--", "sh", "-c", client_line(options, downloads)]))
    return started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", default="kernel:cubic,kernel:cubic(hystart=off)")
    parser.add_argument("--path", default="rate=100Mbit,rtt=10ms,queue=10ms")
    parser.add_argument("--size", default="500kB")
    parser.add_argument("--downloads", type=int, default=200)
    parser.add_argument("--links", type=int, default=1, help="side by side, each with its own clients")
    parser.add_argument("--pause", type=float, default=0, help="seconds between two downloads; a satellite terminal takes its capacity back in that time")
    parser.add_argument("--server", choices=["nginx", "python"], default="nginx")
    parser.add_argument("--out", type=pathlib.Path, default=None)
    parser.add_argument("--analyse", default="", help="more options of `trial analyse`")
    parser.add_argument("--start", default="", help="more options of `trial start`")
    options = parser.parse_args()
    if options.server == "nginx" and not shutil.which("nginx"):
        sys.exit("nginx is not there: apt-get install nginx-light, or --server python")
    out = options.out or pathlib.Path(tempfile.mkdtemp(prefix="firstflight-trial-")) / "trial"
    group = mount_of_groups() / f"firstflight-trial-{os.getpid()}"
    base = pathlib.Path(tempfile.mkdtemp(prefix="firstflight-web-"))
    base.chmod(0o755)
    group.mkdir()
    trial = None
    try:
        command = [FIRSTFLIGHT, "trial", "start", "--cgroup", str(group), "--arms", options.arms, "--out", str(out)]
        trial = subprocess.Popen([*command, "--unit", "connection", *options.start.split()])
        while not (out / "trial.json").exists():
            if trial.poll() is not None:
                sys.exit("the trial did not start")
            time.sleep(0.1)
        running = links(options, group, base)
        for link in running:
            link.wait()
        if trial.poll() is None:
            trial.send_signal(signal.SIGINT)
        code = trial.wait()
    finally:
        if trial and trial.poll() is None:
            trial.kill()
        for _ in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)
        shutil.rmtree(base, ignore_errors=True)
    state = json.loads((out / "trial.json").read_text())
    print(f"{out}: {state['state']}, code {code}", flush=True)
    baseline = options.arms.split(",")[0].split("=")[0] if "(" not in options.arms.split(",")[0] else options.arms.split(",")[0]
    analyse = [FIRSTFLIGHT, "trial", "analyse", str(out / "rows.jsonl"), "--baseline", baseline, *options.analyse.split()]
    sys.exit(subprocess.run(analyse, check=False).returncode or code)


if __name__ == "__main__":
    main()
