#!/usr/bin/env bash
# The program for the system that this runs on: macOS (one program for both processors) and Windows,
# with the default features. On Linux it makes the same archive, dynamically linked, to try this script.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=native
engine
build() { cargo build --quiet --locked --profile "$profile" -p firstflight-cli ${1:+--target "$1"}; }

host=$(rustc -vV | sed -n 's/^host: //p')
case $host in
*-apple-darwin)
    halves=
    for one in aarch64-apple-darwin x86_64-apple-darwin; do
        rustup target add "$one"
        build "$one"
        halves="$halves $target/$one/$output/firstflight"
    done
    mkdir -p "$target/universal"
    # shellcheck disable=SC2086 # two files
    lipo -create -output "$target/universal/firstflight" $halves
    archive "firstflight-$version-universal-apple-darwin" "$target/universal/firstflight"
    ;;
*-pc-windows-*)
    build
    archive "firstflight-$version-$host" "$target/$output/firstflight.exe" zip
    ;;
*)
    build
    archive "firstflight-$version-$host" "$target/$output/firstflight"
    ;;
esac
