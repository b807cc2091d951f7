#!/usr/bin/env bash
# Wheels of the Python package for every Python from 3.10 on, and its sources.
#
#   packaging/wheels.sh            for this machine: manylinux, and musllinux where Rust has the target
#   packaging/wheels.sh manylinux  only that
#
# Zig links against the C library of old systems, so that no container with one is needed. maturin
# checks every symbol against the named policy, as auditwheel does, and refuses what does not hold.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=wheels
needs python
venv=$target/packaging-venv
[ -x "$venv/bin/maturin" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'maturin[zig]>=1.9,<2' ||
    skip "pip cannot install maturin and zig"
PATH=$venv/bin:$PATH
machine=$(uname -m)
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(manylinux musllinux sdist)

wheel() {
    local triple=$machine-unknown-linux-$1 policy=$2
    rustup target list --installed 2>/dev/null | grep -qx "$triple" ||
        rustup target add "$triple" >/dev/null 2>&1 ||
        { echo "wheels: skipped, no standard library for $triple" && return; }
    maturin build --quiet --locked --profile "$profile" --manifest-path python/Cargo.toml --zig \
        --target "$triple" --compatibility "$policy" --out "$dist"
}
for kind in "${kinds[@]}"; do
    case $kind in
    manylinux) wheel gnu manylinux_2_17 ;;
    musllinux) wheel musl musllinux_1_2 ;;
    sdist) maturin sdist --manifest-path python/Cargo.toml --out "$dist" >/dev/null ;;
    *) echo "wheels: no kind is called $kind" && exit 2 ;;
    esac
done
for file in "$dist"/firstflight-"$version"*.whl "$dist/firstflight-$version.tar.gz"; do
    [ ! -e "$file" ] || made "$file"
done
