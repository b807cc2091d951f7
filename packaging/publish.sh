#!/usr/bin/env bash
# Publishes the crates in the order of their dependencies.
#
#   packaging/publish.sh                  dry run: everything but the upload
#   packaging/publish.sh --order          only the order, one name a line
#   packaging/publish.sh --upload         uploads; takes the tag of the version, a clean checkout and
#                                         a token for the registry (CARGO_REGISTRY_TOKEN)
#   packaging/publish.sh --upload CRATE   goes on with CRATE, where an upload was cut short
set -euo pipefail
cd "$(dirname "$0")/.."

order() {
    cargo metadata --locked --no-deps --format-version 1 | python3 -c '
import graphlib, json, sys
packages = {p["name"]: p for p in json.load(sys.stdin)["packages"] if p["publish"] != []}
# Dependencies of tests too: the registry is asked for them when a crate is built.
needs = {
    name: [d["name"] for d in p["dependencies"] if d["name"] in packages]
    for name, p in sorted(packages.items())
}
print(*graphlib.TopologicalSorter(needs).static_order(), sep="\n")'
}

case ${1:-} in
--order) order ;;
'')
    # One crate after the other would ask the registry for those that are not there yet.
    cargo publish --workspace --locked --dry-run --no-verify --allow-dirty
    ;;
--upload)
    version=$(cargo pkgid --offline -p firstflight-cli | sed 's/.*[#@]//')
    [ -z "$(git status --porcelain)" ] || { echo "publish: the checkout has changes"; exit 1; }
    [ "$(git tag --points-at HEAD --list "v$version")" ] ||
        { echo "publish: this commit has no tag v$version"; exit 1; }
    begun=${2:+no}
    for crate in $(order); do
        [ "$crate" != "${2:-}" ] || begun=
        [ -z "$begun" ] || continue
        # Waits until the registry has it, for the next crate is built with it.
        cargo publish --locked -p "$crate"
    done
    [ -z "$begun" ] || { echo "publish: no crate is called ${2:-}"; exit 1; }
    ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
