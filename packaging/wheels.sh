#!/usr/bin/env bash
# Wheels of the Python package for every Python from 3.10 on, and its sources.
#
#   packaging/wheels.sh            for this machine: manylinux, and musllinux where Rust has the target; on macOS one
#                                  for both processors, on Windows one
#   packaging/wheels.sh manylinux  only that
#   packaging/wheels.sh host       on Linux, around the engine that the tests have built: nothing is compiled, and it is for this machine alone
#
# Zig links against the C library of old systems, so that no container with one is needed. maturin
# checks every symbol against the named policy, as auditwheel does, and refuses what does not hold.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=wheels
needs python
venv=$target/packaging-venv
case $(uname -s) in
Linux) own="manylinux musllinux sdist" maturin="maturin[zig]" bin=bin ;;
Darwin) own=macos maturin=maturin bin=bin ;;
*) own=windows maturin=maturin bin=Scripts ;;
esac
# Only wheels for old systems need Zig.
[ "${*:-}" != host ] || maturin=maturin
[ -e "$venv/$bin/activate" ] || "$python" -m venv "$venv"
"$venv/$bin/python" -m pip install --quiet --disable-pip-version-check "$maturin>=1.9,<2" ||
    skip "pip cannot install $maturin"
PATH=$venv/$bin:$PATH
machine=$(uname -m)
# shellcheck disable=SC2206 # words
kinds=(${*:-$own})

wheel() {
    local triple=$machine-unknown-linux-$1 policy=$2
    rustup target list --installed 2>/dev/null | grep -qx "$triple" ||
        rustup target add "$triple" >/dev/null 2>&1 ||
        { echo "wheels: skipped, no standard library for $triple" && return; }
    maturin build --quiet --locked --profile "$profile" --manifest-path python/Cargo.toml --zig \
        --target "$triple" --compatibility "$policy" --out "$dist"
}
# maturin writes the metadata, as for any wheel; the files are those of the commit.
host() {
    local work options
    work=$(mktemp -d)
    options=$(tests/needs.sh --build)
    # shellcheck disable=SC2086 # words
    cargo build --quiet --locked $options
    (cd python && python -c 'import maturin, sys; maturin.prepare_metadata_for_build_wheel(sys.argv[1])' "$work") >/dev/null
    (cd python && git ls-files -z firstflight | xargs -0 cp --parents -t "$work")
    install -m 644 "$target/debug/lib_engine.so" "$work/firstflight/_engine.abi3.so"
    strip "$work/firstflight/_engine.abi3.so"
    python -m pip install --quiet --disable-pip-version-check wheel
    python -m wheel pack "$work" --dest-dir "$dist" >/dev/null
    rm -rf "$work"
}
native() { maturin build --quiet --locked --profile "$profile" --manifest-path python/Cargo.toml "$@" --out "$dist"; }
for kind in "${kinds[@]}"; do
    case $kind in
    host) host ;;
    manylinux) wheel gnu manylinux_2_17 ;;
    musllinux) wheel musl musllinux_1_2 ;;
    macos)
        rustup target add aarch64-apple-darwin x86_64-apple-darwin
        native --target universal2-apple-darwin
        ;;
    windows) native ;;
    sdist) maturin sdist --manifest-path python/Cargo.toml --out "$dist" >/dev/null ;;
    *) echo "wheels: no kind is called $kind" && exit 2 ;;
    esac
done
for file in "$dist"/firstflight-"$version"*.whl "$dist/firstflight-$version.tar.gz"; do
    [ ! -e "$file" ] || made "$file"
done
