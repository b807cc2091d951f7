#!/usr/bin/env bash
# Builds the playground's engine, target/web/engine.wasm and the same as gzip: the only thing of the playground that is
# built. Needs the standard library for wasm32-unknown-unknown: installs it where rustup is. Where that
# cannot be had (a machine may reach no server of rustup's), builds it from its sources, if the toolchain
# has them: rustup's rust-src, or on Debian rustc-web, cargo-web, rust-web-src, rust-web-llvm and the lld of its LLVM (lld-22). Where
# neither is there, says so and skips. No optimiser runs behind the compiler: the same sources and
# compiler give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
triple=wasm32-unknown-unknown

std=()
there() { [ -n "$(ls "$(rustc --print target-libdir --target $triple)"/libcore-*.rlib 2>/dev/null)" ]; }
if ! there; then
    if type -P rustup >/dev/null; then rustup --quiet target add $triple || true; fi
    if there; then
        :
    elif [ -e "$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.toml" ]; then
        # Cargo builds a standard library on request of nightly toolchains only; of the sources of this very
        # compiler it does so as well.
        export RUSTC_BOOTSTRAP=1
        std=(-Zbuild-std=std,panic_abort)
    else
        echo "web: skipped, no standard library for $triple (rustup target add $triple) and no sources of it"
        exit 0
    fi
fi

# Paths of this machine are left out of the module.
export CARGO_TARGET_DIR=$target
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="--remap-path-prefix=$PWD=. \
--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
cargo rustc --locked --quiet ${std[@]+"${std[@]}"} -p firstflight-web --lib --crate-type cdylib --target $triple --profile web || {
    # Sources alone are no promise: their dependencies and a linker are needed, too.
    [ ${#std[@]} -gt 0 ] || exit 1
    echo "web: skipped, the standard library for $triple cannot be built from its sources here"
    exit 0
}
mkdir -p "$target/web"
cp "$target/$triple/web/firstflight_web.wasm" "$target/web/engine.wasm.new"
mv "$target/web/engine.wasm.new" "$target/web/engine.wasm"
gzip -9 -n -c "$target/web/engine.wasm" >"$target/web/engine.wasm.gz.new"
mv "$target/web/engine.wasm.gz.new" "$target/web/engine.wasm.gz"
echo "web: $target/web/engine.wasm, $(stat -c %s "$target/web/engine.wasm") bytes," \
    "$(stat -c %s "$target/web/engine.wasm.gz") compressed"
