#!/bin/sh
# The simulator beside csg-htsim, in one run on this machine: bulk flows through one bottleneck, and what a data packet costs. htsim's TCP is
# NewReno with an ACK for each packet, without SACK and without pacing, so what comes of the flows differs once something is lost: throughput
# is shown beside and not held equal. Runs are interleaved; times are CPU times, medians of ROUNDS (default 3).
#
#   HTSIM=DIR benches/htsim.sh     DIR: the directory `sim` of a checkout (https://github.com/Broadcom/csg-htsim) with libhtsim.a built in it
set -eu
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-3}
[ -e "${HTSIM:-}/libhtsim.a" ] || { echo 'bench: skipped, HTSIM is not a directory with libhtsim.a'; exit 0; }
command -v g++ >/dev/null 2>&1 || { echo 'bench: skipped, no g++'; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
g++ -O3 -std=c++11 -I"$HTSIM" benches/htsim/bottleneck.cc "$HTSIM/libhtsim.a" -o "$work/theirs"
cargo build --release --quiet -p firstflight-sim --example bulk
ours="${CARGO_TARGET_DIR:-target}/release/examples/bulk"

value() { tr ' ' '\n' <"$1" | sed -n "s/^$2=//p"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
line() { printf '%-40s %14s %14s %8s\n' "$@"; }

# title, times, words
pair() {
    title=$1 times=$2
    shift 2
    : >"$work/ours.cpus"
    : >"$work/theirs.cpus"
    for _ in $(seq "$rounds"); do
        "$work/theirs" "$@" >"$work/theirs.line" 2>/dev/null
        value "$work/theirs.line" cpu_s >>"$work/theirs.cpus"
        "$ours" "$@" cc=newreno ackEvery=1 "times=$times" >"$work/ours.line"
        value "$work/ours.line" cpu_s >>"$work/ours.cpus"
    done
    for side in ours theirs; do
        awk -v p="$(value "$work/$side.line" data_packets)" -v s="$(median <"$work/$side.cpus")" 'BEGIN { printf "%.0f\n", p / s }' >"$work/$side.rate"
    done
    line "$title" "$(cat "$work/ours.rate")" "$(cat "$work/theirs.rate")" \
        "$(awk -v a="$(cat "$work/ours.rate")" -v b="$(cat "$work/theirs.rate")" 'BEGIN { printf "%.1f", a / b }')"
    line '  bytes delivered' "$(value "$work/ours.line" delivered_bytes)" "$(value "$work/theirs.line" delivered_bytes)" ''
    line '  memory, KiB' "$(value "$work/ours.line" rss_kib)" "$(value "$work/theirs.line" rss_kib)" ''
}

echo '100 Mbit/s, drop-tail queue of one BDP, 10 s simulated; NewReno, an ACK for each packet'
echo
line 'data packets per second of CPU time' firstflight csg-htsim ratio
pair '1 flow, 30 ms' 20 rtt=30
pair '1 flow, 140 ms' 20 rtt=140
pair '100 flows, 30 ms' 10 rtt=30 flows=100
