#!/bin/sh
# What a simulated data packet costs in instructions and cache misses: the same on every run of the same build, unlike nanoseconds.
# Needs valgrind. The caches are those of the machine that docs/performance.md was measured on: 48 KiB first level, 1 MiB second.
#   benches/cost.sh [SCENARIO...]      exit status 1 if the cost is not flat over round trips and flows
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install valgrind" >&2; exit 2; }
binary=${COST_BINARY:-$(cargo bench -p firstflight-sim --bench cost --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*cost-[^"]*\)".*/\1/p' | tail -1)}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
[ $# -gt 0 ] || set -- quic-30ms quic-600ms quic-30ms-loss quic-600ms-loss tcp-30ms tcp-600ms tcp-30ms-loss tcp-600ms-loss \
    quic-1 quic-100 tcp-1 tcp-100 tcp-10 tcp-1000
printf '%-18s %14s %18s %18s\n' 'per data packet' instructions 'missed 48 KiB' 'missed 1 MiB'
# Two lengths and their difference: without start-up, the same packets of slow start cancel.
count() {
    valgrind --tool=cachegrind --cache-sim=yes --D1=49152,12,64 --LL=1048576,16,64 --cachegrind-out-file=/dev/null "$binary" "$1" "$2" >"$out" 2>&1
    tr -d , <"$out" | awk '/data packets/ {p=$2} /I *refs:/ {i=$NF} /D1  misses:/ {d=$4} /LLd misses:/ {l=$4} END {print p, i, d, l}'
}
table=$(mktemp)
trap 'rm -f "$out" "$table"' EXIT
for name in "$@"; do
    { count "$name" 100000; count "$name" 400000; } | awk -v name="$name" '
        NR == 1 {p=$1; i=$2; d=$3; l=$4}
        NR == 2 {n=$1-p; printf "%-18s %14.1f %18.2f %18.2f\n", name, ($2-i)/n, ($3-d)/n, ($4-l)/n}' | tee -a "$table"
done
# Flat over the round trip (trap: scans of the window) and over the number of flows (trap: scans of the flows), in instructions.
awk '{ cost[$1] = $2 }
    function held(far, near, most) {
        if (cost[far] && cost[near]) {
            ratio = cost[far] / cost[near]
            printf "%-18s %14.3f of %s; at most %s allowed\n", far, ratio, near, most
            if (ratio > most) failed = 1
        }
    }
    END {
        held("quic-600ms", "quic-30ms", 1.1); held("quic-600ms-loss", "quic-30ms-loss", 1.1)
        held("tcp-600ms", "tcp-30ms", 1.1); held("tcp-600ms-loss", "tcp-30ms-loss", 1.1)
        held("quic-100", "quic-1", 1.3); held("tcp-100", "tcp-1", 1.3); held("tcp-1000", "tcp-10", 1.2)
        exit failed
    }' "$table"
