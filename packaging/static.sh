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
name=firstflight-$version-$triple

rustup target list --installed 2>/dev/null | grep -qx "$triple" ||
    rustup target add "$triple" >/dev/null 2>&1 ||
    { echo "static: skipped, no standard library for $triple (rustup target add $triple)" && exit; }
needs static
engine

cargo build --quiet --locked --profile "$profile" --target "$triple" -p firstflight-cli \
    --features "$features"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/$name"
install -m 755 "$target/$triple/$output/firstflight" "$work/$name/firstflight"
strip "$work/$name/firstflight"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$work/$name/"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-0}" \
    -cf - "$name" | gzip -n9 >"$dist/$name.tar.gz"
(cd "$dist" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
made "$dist/$name.tar.gz"
