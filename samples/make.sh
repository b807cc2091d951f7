#!/usr/bin/env bash
# Makes the captures in this folder: samples/make.sh FIRSTFLIGHT. Needs Linux, root, Python, and a
# program with every testbed (`--features linux,quic`). The kernel's clock is real: captures made
# again differ in their last digits.
set -euo pipefail
firstflight=$(realpath "${1:?usage: samples/make.sh FIRSTFLIGHT}")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# upload NAME BYTES PATH CONTROLLER: the kernel's TCP sends through an emulated link, and what passes
# the sender is captured; `tcpdump -s 80 -w FILE` writes the same.
upload() {
    "$firstflight" link --quiet --upload --path "$3" --server 'python3 transfer.py receive' -- \
        bash -c 'python3 transfer.py capture "$1" & sleep 0.5; python3 transfer.py send "$2" "$3"; sleep 0.2; kill $!; wait $! || true' \
        upload "$work/$1" "$2" "$4" < /dev/null
}

# recorded STARTUP NAME ...: the same, recorded again as long as the capture does not show this startup. A
# machine that is busy sends later than the kernel wanted to.
recorded() {
    local startup=$1 name=$2 try
    shift
    for try in 1 2 3 4 5; do
        upload "$@"
        if "$firstflight" replay --identify "$work/$name" --arms slowstart --json - 2> /dev/null | python3 -c '
import json, sys
identity = json.load(sys.stdin)["connections"][0]["identified"]
sys.exit(sys.argv[1] not in identity["alike"])' "$startup"; then
            return
        fi
    done
    echo "make.sh: five recordings of $name do not show $startup; try again on a quiet machine" >&2
    return 1
}

number=0
while read -r rate rtt bytes; do
    number=$((number + 1))
    recorded hystart "plain-$number.pcap" "$bytes" "rate=${rate}Mbit,rtt=${rtt}ms,queue=1bdp" cubic
done <<'PATHS'
48 21 1200000
62 28 1500000
35 33 1000000
80 19 1600000
27 41 1100000
55 25 1300000
PATHS
number=0
while read -r rate rtt bytes; do
    number=$((number + 1))
    recorded slowstart "satellite-$number.pcap" "$bytes" "rate=${rate}Mbit,rtt=${rtt}ms,queue=1bdp,return=batch:40ms:1000:30us" reno
done <<'PATHS'
4.0 590 1800000
5.0 605 2000000
4.5 598 1900000
3.5 612 1600000
5.5 594 2100000
PATHS
for kind in plain satellite; do
    python3 transfer.py join "$work"/$kind-*.pcap | gzip -9n > $kind.pcap.gz
done

# QUIC over a mobile path: rate that wanders, ACKs released in slots, loss in the air. Real noq in
# virtual time: the same bytes again.
rm -rf lossy-mobile
mkdir lossy-mobile
number=0
while read -r rate rtt loss bytes; do
    number=$((number + 1))
    "$firstflight" compare --on quic --path "rate=${rate}Mbit,rtt=${rtt}ms,queue=120ms,loss=$loss%" --arms hystart++ --bytes "$bytes" \
        --seed "$number" --qlog "$work/qlog/" > /dev/null
    gzip -9nc "$work"/qlog/*-sender.sqlog > lossy-mobile/$number.sqlog.gz
    rm -r "$work/qlog"
done <<'PATHS'
18 62 0.4 700kB
24 55 0.8 800kB
12 71 0.6 600kB
30 48 0.3 1000kB
15 66 1.0 600kB
21 58 0.5 700kB
PATHS
ls -l . lossy-mobile
