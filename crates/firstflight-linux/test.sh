#!/usr/bin/env bash
# The tests of the BPF controllers, with what they are built from installed where that is possible. Where it is not, one line says what
# is missing; in CI that is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
command -v clang >/dev/null || missing+=(clang)
[ -e /usr/include/libelf.h ] || missing+=(libelf-dev)
[ -e /usr/include/zlib.h ] || missing+=(zlib1g-dev)
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "kernel: installing ${missing[*]}"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >/dev/null && missing=()
fi
if [ ${#missing[@]} -gt 0 ]; then
    echo "kernel: skipped, ${missing[*]} not installed"
    [ -z "${CI:-}" ] || exit 1
    exit 0
fi
cargo test --locked -p firstflight-linux --features bpf,native
cargo test --locked -p firstflight-cli --features linux --test link --test kernel
cargo test --locked -p firstflight-lab --features linux --test linux --test linux_traces
