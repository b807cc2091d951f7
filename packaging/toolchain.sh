#!/usr/bin/env bash
# The Rust toolchain where a machine has none or another: stable unless named. For machines that
# run workflows; at home this is rustup's and yours.
set -euo pipefail
channel=${1:-stable}
if ! type -P rustup >/dev/null; then
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
        sh -s -- -y --profile minimal --default-toolchain none
    export PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
    [ -z "${GITHUB_PATH:-}" ] || echo "${CARGO_HOME:-$HOME/.cargo}/bin" >>"$GITHUB_PATH"
fi
rustup toolchain install stable --no-self-update --profile minimal --component clippy,rustfmt
rustup default stable
[ "$channel" = stable ] || rustup toolchain install "$channel" --no-self-update --profile minimal
