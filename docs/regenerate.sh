#!/usr/bin/env bash
# Makes every generated page and picture of the documentation again, so that none of them can be older than the program. Parts by name:
#   shown        what commands print in README.md and docs/, and the pictures that the site draws from traces
#   results      docs/results.csv, the published results compared with ours (several minutes), and docs/results.md with its pictures out of it
#   agreement    docs/agreement.md, simulator against real QUIC stacks; its last table takes real time
#   startups     docs/startups.md, six startups on ten built-in paths
#   acks         docs/acks.md, every startup behind receivers that acknowledge seldom
#   pictures     docs/pictures/*.png, the reports as Chromium shows them, where they changed
# The kernel's results (docs/linux-results.md) need root and an hour on a machine that does nothing else: docs/linux.md says how.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(shown results agreement startups acks pictures)

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
    acks) into docs/acks.md python3 docs/site/acks.py "${FIRSTFLIGHT:-$target/release/firstflight}" ;;
    pictures) python3 docs/site/pictures.py "${FIRSTFLIGHT:-$target/release/firstflight}" docs --reports --write ;;
    *) echo "regenerate: no part \`$part\`: shown, results, agreement, startups, acks, pictures" && exit 2 ;;
    esac
done
