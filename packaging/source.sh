#!/usr/bin/env bash
# The sources of the commit and the simulator for browsers, for packagers who compile: the latter needs a target of Rust
# that they may not have (`FIRSTFLIGHT_ENGINE=FILE cargo build` puts it into the program).
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=source
sum() { (cd "$dist" && sha256sum "$1" >"$1.sha256"); }
name=firstflight-$version-source.tar.gz
git archive --format=tar --prefix="firstflight-$version/" HEAD | gzip -n9 >"$dist/$name"
sum "$name"
made "$dist/$name"
engine
[ -n "${FIRSTFLIGHT_ENGINE:-}" ] || skip "the simulator for browsers cannot be built here"
name=firstflight-$version-engine.wasm.gz
cp "$FIRSTFLIGHT_ENGINE" "$dist/$name"
sum "$name"
made "$dist/$name"
