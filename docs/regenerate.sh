#!/usr/bin/env bash
# Regenerates every generated page and picture of the documentation, so that none is older than the program. The parts are:
#   shown        the output of commands in README.md and docs/, and the pictures that the site draws from traces
#   results      docs/results.csv, published results compared with ours (several minutes), and docs/results.md with its pictures
#   agreement    docs/agreement.md, simulator compared with real QUIC stacks; its last table runs in real time
#   suss         the table of docs/explain/suss.md: five startups on the same ten paths
#   startups     docs/startups.md, six startups on ten built-in paths
#   tunings      docs/tunings.md, two arms tuned on three populations (several minutes)
#   acks         docs/acks.md, every startup with receivers that acknowledge rarely
#   pictures     docs/pictures/*.png, screenshots of the reports in Chromium, if they have changed
# The kernel's results (docs/linux-results.md) need root and an hour on an idle machine; see docs/linux.md.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(shown results agreement startups suss tunings acks pictures)

firstflight() { "${FIRSTFLIGHT:-$target/release/firstflight}" "$@"; }

# A page appears when it is complete.
into() {
    "${@:2}" >"$target/page.tmp"
    mv "$target/page.tmp" "$1"
}

[ -n "${FIRSTFLIGHT:-}" ] || cargo build --quiet --locked --release
for part in "${parts[@]}"; do
    case $part in
    shown)
        WRITE_DOCS=1 cargo test --quiet --locked -p firstflight-cli --test documented -- every_documented
        python3 docs/site/pictures.py "${FIRSTFLIGHT:-$target/release/firstflight}" docs --write
        ;;
    results)
        firstflight reproduce --all --csv docs/results.csv --report "$target/published.html"
        python3 docs/site/results.py "${FIRSTFLIGHT:-$target/release/firstflight}" docs --write
        ;;
    agreement) into docs/agreement.md cargo run --quiet --locked --release -p firstflight-lab --features quic --example agreement -- --real 7 ;;
    startups) into docs/startups.md python3 docs/site/startups.py "${FIRSTFLIGHT:-$target/release/firstflight}" ;;
    suss) python3 docs/site/suss.py "${FIRSTFLIGHT:-$target/release/firstflight}" docs/explain/suss.md ;;
    tunings) into docs/tunings.md python3 docs/site/tunings.py "${FIRSTFLIGHT:-$target/release/firstflight}" ;;
    acks) into docs/acks.md python3 docs/site/acks.py "${FIRSTFLIGHT:-$target/release/firstflight}" ;;
    pictures) python3 docs/site/pictures.py "${FIRSTFLIGHT:-$target/release/firstflight}" docs --reports --write ;;
    *) echo "regenerate: no part \`$part\`: shown, results, agreement, startups, suss, tunings, acks, pictures" && exit 2 ;;
    esac
done
