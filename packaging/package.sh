#!/usr/bin/env bash
# Makes the crates as they would be published and shows that they build without this checkout.
#
#   packaging/package.sh           unpacks them beside each other and checks them together, with the
#                                  features of `make lint`, whose compiled dependencies it uses again
#   packaging/package.sh --verify  each crate alone, as `cargo publish` does: minutes of processor time
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
here=(--workspace --exclude firstflight-python --locked --allow-dirty)

if [ "${1:-}" = --verify ]; then
    # A folder of its own: these builds have other profiles. Without debug information it is small.
    CARGO_TARGET_DIR=$target/verify CARGO_PROFILE_DEV_DEBUG=0 cargo package "${here[@]}"
    exit
fi

# Targets whose files stay behind are named one by one; that is what `exclude` asks for.
log=$(cargo package "${here[@]}" --no-verify --quiet 2>&1) || { echo "$log"; exit 1; }
grep -vE '^warning: ignoring (test|benchmark) `' <<<"$log" || true

set=$target/packaged
rm -rf "$set"
mkdir -p "$set"
packed=0
for crate in crates/*/; do
    name=$(basename "$crate")
    version=$(cargo pkgid --offline -p "$name" | sed 's/.*[#@]//')
    tar -xzf "$target/package/$name-$version.crate" -C "$set"
    folder=$set/$name-$version
    for file in README.md LICENSE-MIT LICENSE-APACHE src; do
        [ -e "$folder/$file" ] || { echo "package: $name has no $file"; exit 1; }
    done
    [ ! -e "$folder/tests" ] || { echo "package: $name holds its tests"; exit 1; }
    mv "$folder" "$set/$name"
    packed=$((packed + 1))
done

# The packages find each other here as they would at the registry, and the rest in the lock file.
# The profiles are those of the checkout, so that nothing else is built again.
{
    printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n\n[patch.crates-io]\n'
    for crate in crates/*/; do
        name=$(basename "$crate")
        printf '%s = { path = "%s" }\n' "$name" "$name"
    done
    sed -n '/^\[profile/,$p' Cargo.toml
} >"$set/Cargo.toml"
cp Cargo.lock "$set/"
# Files in packages have no time of their own: cargo would take what it checked before for the same.
find "$set" -type f -exec touch {} +
features=$(tests/needs.sh --features)
export CARGO_TARGET_DIR=$target
# shellcheck disable=SC2086
(cd "$set" && cargo check --quiet --offline --workspace $features)
echo "package: $packed crates packed and checked outside the checkout, $(du -ch \
    "$target"/package/*.crate | tail -1 | cut -f1) in all"
