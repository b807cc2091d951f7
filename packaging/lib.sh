# What the scripts of this folder share. Sourced, from the root of the checkout; runs on macOS and Windows, too.
set -euo pipefail
. tests/needs.sh

absolute() {
    case $1 in
    /* | [A-Za-z]:*) echo "$1" ;;
    *) echo "$PWD/$1" ;;
    esac
}
target=$(absolute "${CARGO_TARGET_DIR:-target}")
# Everything that is made ends up here, named after its version.
dist=$(absolute "${DIST:-$target/dist}")
mkdir -p "$dist"
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
python=$(type -P python3 || type -P python)
# `dev` builds in a quarter of the time, to try the scripts; what is published is `dist`.
profile=${PROFILE:-dist}
output=$profile
[ "$profile" != dev ] || output=debug

# The simulator for browsers goes into the program, where it can be built or is named.
engine() {
    [ -z "${FIRSTFLIGHT_ENGINE:-}" ] || return 0
    crates/firstflight-web/build.sh
    [ ! -e "$target/web/engine.wasm.gz" ] || export FIRSTFLIGHT_ENGINE=$target/web/engine.wasm.gz
}

# extras PROGRAM COMPLETIONS MAN: writes the program's completions and manual pages into two folders.
extras() {
    mkdir -p "$2" "$3"
    "$1" completions bash >"$2/firstflight.bash"
    "$1" completions zsh >"$2/_firstflight"
    "$1" completions fish >"$2/firstflight.fish"
    "$1" completions powershell >"$2/_firstflight.ps1"
    "$1" man "$3"
}

# archive NAME PROGRAM [zip]: packs the program, its completions, manual pages and licences as NAME.tar.gz (or NAME.zip)
# with a checksum beside it. The same files give the same bytes.
archive() {
    local name=$1 program=$2 suffix=${3:-tar.gz} work
    work=$(mktemp -d)
    mkdir "$work/$name"
    cp "$program" "$work/$name/"
    chmod 755 "$work/$name/${program##*/}"
    cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$work/$name/"
    extras "$work/$name/${program##*/}" "$work/$name/completions" "$work/$name/man"
    "$python" packaging/archive.py "$work/$name" "$dist/$name.$suffix"
    rm -rf "$work"
    made "$dist/$name.$suffix"
}

made() { echo "$part: $(basename "$1"), $(du -h "$1" | cut -f1)"; }

# What follows makes Debian packages out of folders below $work/debian.
begin_deb() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir "$work/debian"
    architecture=$(dpkg --print-architecture)
}
# Writes the file of copyrights into a folder of documentation.
copyright() {
    mkdir -p "$1"
    {
        echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
        echo "Source: https://github.com/firstflight/firstflight"
        printf '\nFiles: *\nCopyright: the firstflight authors\nLicense: MIT or Apache-2.0\n\n'
        printf 'License: Apache-2.0\n On Debian systems: /usr/share/common-licenses/Apache-2.0\n\n'
        printf 'License: MIT\n'
        sed 's/^$/./; s/^/ /' LICENSE-MIT
    } >"$1/copyright"
}
# The packages whose libraries a file of a package is linked with.
needed() {
    printf 'Source: firstflight\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/debian/control"
    (cd "$work" && dpkg-shlibdeps -O "debian/$1/$2" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
}
# Packs a folder, with the control file of standard input and the lines that all packages share.
deb() {
    find "$1" -type d -exec chmod 755 {} +
    find "$1" -type f ! -path '*/bin/*' -exec chmod 644 {} +
    {
        printf 'Version: %s-1\nArchitecture: %s\n' "$version" "$architecture"
        echo "Maintainer: the firstflight authors <firstflight@users.noreply.github.com>"
        echo "Installed-Size: $(du -sk --exclude=DEBIAN "$1" | cut -f1)"
        printf 'Priority: optional\nHomepage: https://github.com/firstflight/firstflight\n'
        cat
    } >"$1/DEBIAN/control"
    local package
    package=$dist/$(basename "$1")_$version-1_$architecture.deb
    dpkg-deb --root-owner-group -Zxz --build "$1" "$package" >/dev/null
    made "$package"
}
