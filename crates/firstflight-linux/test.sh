#!/usr/bin/env bash
# The tests of the BPF controllers and of what works with the kernel, with what they are built from installed where that is possible. Where
# it is not, one line says what is missing; in CI that is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."

. tests/needs.sh
needs kernel
cargo test --locked --workspace --all-features --test equality --test kernel --test trial --test link --test linux
