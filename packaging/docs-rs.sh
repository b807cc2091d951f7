#!/usr/bin/env bash
# The documentation of each crate as docs.rs builds it: out of its package, with the features that
# its metadata names, warnings as errors.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Anew: what was unpacked before may lack a crate.
packaging/package.sh
export CARGO_TARGET_DIR=$target RUSTDOCFLAGS="-D warnings"
cd "$target/packaged"
cargo metadata --offline --no-deps --format-version 1 | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    asked = ((package["metadata"] or {}).get("docs") or {}).get("rs") or {}
    every = ["--all-features"] if asked.get("all-features") else []
    some = ["--features", ",".join(asked["features"])] if asked.get("features") else []
    print(package["name"], *every, *some)' |
    while read -r name options; do
        # shellcheck disable=SC2086
        cargo doc --quiet --offline --no-deps -p "$name" $options
        echo "docs.rs: $name ${options:-(default features)}"
    done
