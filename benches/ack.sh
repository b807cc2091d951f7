#!/bin/sh
# What one ACK costs, as a table: instructions (callgrind, deterministic) and nanoseconds (best of many runs on this machine) for every
# arm and for the CUBIC of two QUIC stacks, on the same ACKs. Needs valgrind. Set COUNT_ONLY=1 to leave the nanoseconds out.
set -eu
cd "$(dirname "$0")"
if ! command -v valgrind >/dev/null 2>&1; then
    echo "bench: skipped, no valgrind"
    exit 0
fi
cargo build --release --quiet
target=${CARGO_TARGET_DIR:-target}
ack="$target/release/ack"
acks=$("$ack" count)
scenarios=$("$ack" scenarios)
times=$(mktemp)
# callgrind wants a file of its own: never a device.
counts=$(mktemp)
trap 'rm -f "$times" "$counts"' EXIT
[ -n "${COUNT_ONLY:-}" ] || "$ack" time >"$times" 2>/dev/null

# Instructions inside the measured function, callees included.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$counts" --collect-atstart=no --toggle-collect='measured_*' "$ack" "$1" "$2" 2>&1 >/dev/null |
        awk -v acks="$acks" '/startup ended/ { mark = "*" } /Collected/ { printf "%.0f%s", $NF / acks, mark }'
}

printf '%-36s' 'instructions (ns) per ACK'
for scenario in $scenarios; do printf '%18s' "$scenario"; done
echo
"$ack" list | while IFS= read -r sender; do
    printf '%-36s' "$sender"
    for scenario in $scenarios; do
        ns=$(awk -v a="$sender" -v b="$scenario" '$1 == a && $2 == b { printf " (%.0f)", $3 }' "$times")
        printf '%18s' "$(instructions "$sender" "$scenario")$ns"
    done
    echo
done
echo '* startup ended within the measured ACKs'
