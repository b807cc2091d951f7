#!/bin/sh
# Runs every fuzz target for SECONDS_EACH (30) seconds, or says why it does not. Exit code 0 if nothing was found or nothing could run.
set -eu
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-30}
if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "fuzz: skipped, no nightly toolchain (rustup toolchain install nightly)"
    exit 0
fi
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "fuzz: skipped, no cargo-fuzz (cargo install cargo-fuzz --locked)"
    exit 0
fi
# The fuzzer itself is C++.
tests/needs.sh fuzz
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for target in $(cargo +nightly fuzz list); do
    dict=""
    [ "$target" = arm_text ] && dict="-dict=fuzz/arm.dict"
    # What is found goes into the corpus; seeds are ours and stay as they are.
    seeds=""
    [ -d "fuzz/seeds/$target" ] && mkdir -p "fuzz/corpus/$target" && seeds="fuzz/corpus/$target fuzz/seeds/$target"
    # shellcheck disable=SC2086
    if nice -n 10 cargo +nightly fuzz run "$target" $seeds -- -max_total_time="$seconds" -max_len=2000 -timeout=10 $dict >"$log" 2>&1; then
        echo "fuzz: $target: $(grep '^Done ' "$log" || tail -1 "$log"), nothing found"
    else
        cat "$log"
        echo "fuzz: $target: FOUND SOMETHING, see above"
        exit 1
    fi
done
