#!/usr/bin/env bash
# The program's bill of materials, CycloneDX: every crate that is compiled into it, with version, licence and checksum.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=sbom
cargo cyclonedx --version >/dev/null 2>&1 ||
    skip "no cargo-cyclonedx (cargo install cargo-cyclonedx --locked)"
# Of every testbed, as the `.deb` has them; the other programs contain a part of it.
cargo cyclonedx --quiet --manifest-path crates/firstflight-cli/Cargo.toml --format json --spec-version 1.5 \
    --features full --override-filename firstflight.cdx
mv crates/firstflight-cli/firstflight.cdx.json "$dist/firstflight.cdx.json"
# The tool writes a file beside every crate of the workspace.
find crates python -name firstflight.cdx.json -delete
made "$dist/firstflight.cdx.json"
