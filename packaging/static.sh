#!/usr/bin/env bash
# The program without any shared library, for every Linux of this processor: testbeds `sim` and
# `quic`, captures, Parquet. The kernel's part stays out, it is linked with libelf.
# Makes firstflight-VERSION-TARGET.tar.gz, which `cargo binstall` takes, and its checksum.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=static
triple=${TRIPLE:-$(uname -m)-unknown-linux-musl}
features=${FEATURES:-quic,parquet}

rustup target list --installed 2>/dev/null | grep -qx "$triple" ||
    rustup target add "$triple" >/dev/null 2>&1 ||
    { echo "static: skipped, no standard library for $triple (rustup target add $triple)" && exit; }
needs static
engine

cargo build --quiet --locked --profile "$profile" --target "$triple" -p firstflight-cli \
    --features "$features"
program=$target/$triple/$output/firstflight
# A build of `dist` has no symbols left.
[ "$profile" = dist ] || strip "$program"
archive "firstflight-$version-$triple" "$program"
