#!/bin/sh
# Shows that the core needs nothing but `core`: builds a program with every arm that is linked against nothing, looks for symbols of a heap
# or of the standard library in it, and runs it. One line; exit code 0 if all of that holds.
set -eu
cd "$(dirname "$0")"
flags="-C panic=abort -C relocation-model=static -C link-arg=-nostdlib -C link-arg=-nostartfiles -C link-arg=-static"
if ! RUSTFLAGS="$flags" cargo build --release --quiet; then
    echo "bare: does not link without a standard library"
    exit 1
fi
program=${CARGO_TARGET_DIR:-target}/release/firstflight-bare
undefined=$(nm -u "$program" | wc -l)
foreign=$(nm "$program" | grep -cE '__rust_(re)?alloc|__rdl_|__rg_|_ZN(3std|5alloc)|_RNv.*(3std|5alloc)|malloc|calloc' || true)
if [ "$undefined" -ne 0 ] || [ "$foreign" -ne 0 ]; then
    echo "bare: $undefined undefined symbols, $foreign of a heap or of the standard library"
    nm "$program" | grep -E ' U |__rust_|_ZN(3std|5alloc)|malloc' | head
    exit 1
fi
code=0
"$program" || code=$?
if [ "$code" -ne 0 ]; then
    echo "bare: links, but running every arm returned $code"
    exit 1
fi
echo "bare: every arm links and runs with nothing but core, $(size "$program" | awk 'NR == 2 { print $1 }') bytes of code"
