#!/usr/bin/env bash
# The oldest Rust that Cargo.toml names builds the default program and the crates it consists of.
# Of the adapters, that of s2n-quic needs a newer one, as s2n-quic does.
set -euo pipefail
cd "$(dirname "$0")/.."
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! rustup run "$oldest" rustc --version >/dev/null 2>&1 &&
    ! rustup toolchain install "$oldest" --profile minimal >/dev/null 2>&1; then
    echo "msrv: skipped, no Rust $oldest (rustup toolchain install $oldest)"
    [ "${CI:-}" != true ]
    exit
fi
# A folder of its own: another compiler would throw away what is built.
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/msrv rustup run "$oldest" \
    cargo check --quiet --locked -p firstflight-cli --features quic
echo "msrv: Rust $oldest builds the program with its default features and quic"
