#!/usr/bin/env bash
# The program for Windows, compiled on Linux and run in Wine: it has to print the bytes that README shows and the numbers of
# packaging/action-example/baseline.json, to read a capture, and to refuse what does not exist with exit code 2. What is published is built on
# Windows (native.sh). Needs gcc-mingw-w64-x86-64, wine64 and Rust's target; says in one line what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=windows
triple=x86_64-pc-windows-gnu
type -P x86_64-w64-mingw32-gcc >/dev/null || skip "no x86_64-w64-mingw32-gcc (on Debian: apt-get install gcc-mingw-w64-x86-64)"
wine=$(type -P wine64 || type -P wine || { [ ! -x /usr/lib/wine/wine64 ] || echo /usr/lib/wine/wine64; })
[ -n "$wine" ] || skip "no wine64 (on Debian: apt-get install wine64)"
rustup target list --installed 2>/dev/null | grep -qx "$triple" ||
    rustup target add "$triple" >/dev/null 2>&1 ||
    skip "no standard library for $triple (rustup target add $triple)"
engine
cargo build --quiet --locked --profile "$profile" --target "$triple" -p firstflight-cli

work=$(mktemp -d)
# Wine's server ends by itself, seconds after the last program, and then leaves its folder alone.
trap 'WINEPREFIX=$work/wine "${wine%/*}/wineserver" --kill 2>/dev/null || true; rm -rf "$work"' EXIT
export WINEPREFIX=$work/wine WINEDEBUG=-all
cp "$target/$triple/$output/firstflight.exe" "$work/"
program=$work/firstflight
printf '#!/bin/sh\nexec %q %q "$@"\n' "$wine" "$work/firstflight.exe" >"$program"
chmod 755 "$program"
# Wine 8 lacks a library of Windows that Rust takes its random numbers from; the first run makes Wine's folder.
if ! "$program" --version >/dev/null 2>&1; then
    x86_64-w64-mingw32-gcc -shared -o "$work/bcryptprimitives.dll" -x c - -ladvapi32 <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return SystemFunction036(bytes, (ULONG)count); }
C
    "$program" --version >/dev/null || { echo "windows: the program does not start in $("$wine" --version)" && exit 1; }
fi
sed -n '/^<!-- output: firstflight compare -->$/,/^```$/p' README.md | sed '1,2d;$d' >"$work/documented"
"$program" compare 2>/dev/null | tr -d '\r' | sed 's/ *$//' >"$work/printed"
diff "$work/documented" "$work/printed" || { echo "windows: compare prints other bytes than README" && exit 1; }
example=packaging/action-example
FIRSTFLIGHT=$program "$example/update.sh" "$work/now.json" >/dev/null
"$program" diff "$example/baseline.json" "$work/now.json" --fail-if changed >/dev/null ||
    { echo "windows: other numbers than $example/baseline.json" && exit 1; }
"$program" advise --flows 300 samples/satellite.pcap.gz 2>/dev/null | grep -q "Check " || { echo "windows: advise does not answer" && exit 1; }
code=0
"$program" replay none.pcap >/dev/null 2>&1 || code=$?
[ "$code" = 2 ] || { echo "windows: a file that does not exist gives exit code $code" && exit 1; }
made "$target/$triple/$output/firstflight.exe"
echo "windows: in Wine the same bytes as in README, the same numbers as in $example/baseline.json"
