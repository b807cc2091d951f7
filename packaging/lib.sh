# What the scripts of this folder share. Sourced, from the root of the checkout.
set -euo pipefail
. tests/needs.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Everything that is made ends up here, named after its version.
dist=$(realpath -m "${DIST:-$target/dist}")
mkdir -p "$dist"
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# `dev` builds in a quarter of the time, to try the scripts; what is published is `release`.
profile=${PROFILE:-release}
output=$profile
[ "$profile" != dev ] || output=debug

# The simulator for browsers goes into the program, where it can be built.
engine() {
    crates/firstflight-web/build.sh
    [ ! -e "$target/web/engine.wasm.gz" ] || export FIRSTFLIGHT_ENGINE=$target/web/engine.wasm.gz
}

made() { echo "$part: $(basename "$1"), $(du -h "$1" | cut -f1)"; }
