#!/usr/bin/env bash
# Puts a firstflight onto the PATH of the following steps: the released program of this system, checked against its
# checksum, or a build from the tag where the release has none.
#
#   VERSION   the release, such as 0.1.0 or v0.1.0; or a branch or commit, which is built
#   RELEASES  where releases are, for mirrors; tests put a folder here
set -euo pipefail
repository=https://github.com/firstflight/firstflight
releases=${RELEASES:-$repository/releases/download}
reference=${VERSION:-main}
version=${reference#v}
program=firstflight suffix=tar.gz
case ${RUNNER_OS:-$(uname -s)}-${RUNNER_ARCH:-$(uname -m)} in
Linux-X64 | Linux-x86_64) triple=x86_64-unknown-linux-musl ;;
Linux-ARM64 | Linux-aarch64) triple=aarch64-unknown-linux-musl ;;
macOS-* | Darwin-*) triple=universal-apple-darwin ;;
Windows-X64) triple=x86_64-pc-windows-msvc suffix=zip program=firstflight.exe ;;
*) triple= ;;
esac
bin=${RUNNER_TEMP:-/tmp}/firstflight-bin
mkdir -p "$bin"

released() {
    [[ -n $triple && $version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || return 1
    local name=firstflight-$version-$triple work
    work=$(mktemp -d)
    curl --fail --silent --show-error --location --retry 3 --output "$work/$name.$suffix" \
        "$releases/v$version/$name.$suffix" || return 1
    curl --fail --silent --show-error --location --retry 3 --output "$work/sum" \
        "$releases/v$version/$name.$suffix.sha256" || return 1
    # A damaged or exchanged archive is an error: nothing is built in its place.
    local sums=(sha256sum)
    type -P sha256sum >/dev/null || sums=(shasum -a 256)
    if ! (cd "$work" && "${sums[@]}" --check sum >/dev/null 2>&1); then
        echo "firstflight check: $name.$suffix does not have the checksum that the release gives" >&2
        exit 1
    fi
    if [ "$suffix" = zip ]; then
        unzip -q "$work/$name.zip" -d "$work"
    else
        tar -xzf "$work/$name.tar.gz" -C "$work"
    fi
    cp "$work/$name/$program" "$bin/"
    rm -rf "$work"
    echo "firstflight check: installed the released $name"
}

built() {
    local which=(--rev "$reference")
    if [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]]; then
        which=(--tag "v$version")
    elif [ "$reference" = main ]; then
        which=(--branch main)
    fi
    echo "firstflight check: no released program for $reference on this system; building it"
    cargo install --locked --git "$repository" "${which[@]}" --root "$bin/built" firstflight-cli
    cp "$bin/built/bin/$program" "$bin/"
}

released || built
echo "$bin" >>"$GITHUB_PATH"
