#!/usr/bin/env bash
# Makes every generated page and picture of the documentation again, so that none of them can be older than the program. Parts by name:
#   shown        what commands print in README.md and docs/, and the pictures that the site draws from traces
#   results      docs/results.csv, the published results beside ours (several minutes), and docs/results.md with its pictures out of it
#   agreement    docs/agreement.md, simulator against real QUIC stacks; its last table takes real time
#   startups     docs/startups.md, six startups on ten built-in paths
#   acks         docs/acks.md, every startup behind receivers that acknowledge seldom
#   pictures     docs/pictures/*.png, the reports as Chromium shows them
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

# page.html picture.png width height [top]: what is to be seen of a page, from so many pixels below its top.
picture() {
    local chromium frame profile
    chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "pictures: no chromium"; exit 1; }
    profile=$(mktemp -d)
    frame=$(dirname "$(realpath "$1")")/frame.html
    echo "<!doctype html><body style=margin:0;overflow:hidden><iframe src=$(basename "$1") style=border:0;width:$3px;height:4000px;margin-top:-${5:-0}px></iframe>" >"$frame"
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --user-data-dir="$profile" \
        --window-size="$3,$4" --virtual-time-budget=5000 --screenshot="$PWD/$2" "file://$frame" >/dev/null 2>&1
    rm -rf "$profile" "$frame"
    echo "regenerate: $2"
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
    pictures)
        firstflight compare --plain-report --report "$target/report.html" >/dev/null
        picture "$target/report.html" docs/pictures/report.png 1180 1800
        firstflight compare --arms slowstart,hystart++,rapid --plain-report --report "$target/three.html" >/dev/null
        picture "$target/three.html" docs/pictures/window.png 1180 500 806
        firstflight ab --population geo --flows 100000 --baseline hystart --arms slowstart,hystart++,search,best,rapid-nojump,rapid \
            --report "$target/geo.html" >/dev/null
        picture "$target/geo.html" docs/pictures/geo.png 1200 1110
        ;;
    *) echo "regenerate: no part \`$part\`: shown, results, agreement, startups, acks, pictures" && exit 2 ;;
    esac
done
