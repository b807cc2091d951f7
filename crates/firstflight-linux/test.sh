#!/usr/bin/env bash
# The tests of the BPF controllers and of what works with the kernel, with what they are built from installed where that is possible. Where
# it is not, one line says what is missing; in CI that is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."

. tests/needs.sh
needs kernel
cargo test --locked -p firstflight-linux --all-features --test it
cargo test --locked -p firstflight-cli --all-features --test real kernel:: link::
cargo test --locked -p firstflight-lab --all-features --test real
