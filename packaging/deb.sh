#!/usr/bin/env bash
# A package for Debian with every testbed. Made by hand, for dpkg is where such a package is made,
# and what it depends on is read from the program by dpkg's own tool.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=deb
needs deb
needs kernel
engine
# As `make built` builds it, so that `PROFILE=dev` finds the program.
if [ "$profile" = dev ]; then
    options=$(tests/needs.sh --build)
else
    options="--workspace $(tests/needs.sh --features) --bin firstflight"
fi
cargo build --quiet --locked --profile "$profile" $options

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/debian/firstflight
doc=$root/usr/share/doc/firstflight
share=$root/usr/share
install -D "$target/$output/firstflight" "$root/usr/bin/firstflight"
[ "$profile" = dist ] || strip "$root/usr/bin/firstflight"
mkdir -p "$doc/examples" "$root/DEBIAN"
extras "$root/usr/bin/firstflight" "$work/completions" "$share/man/man1"
gzip -n9 "$share"/man/man1/*.1
install -D -m 644 "$work/completions/firstflight.bash" "$share/bash-completion/completions/firstflight"
install -D -m 644 "$work/completions/_firstflight" "$share/zsh/vendor-completions/_firstflight"
install -D -m 644 "$work/completions/firstflight.fish" "$share/fish/vendor_completions.d/firstflight.fish"
cp README.md docs/*.md "$doc/"
cp -r samples/*.pcap.gz samples/lossy-mobile experiments/*.toml "$doc/examples/"
gzip -n9c CHANGELOG.md >"$doc/changelog.gz"
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Source: https://github.com/firstflight/firstflight"
    printf '\nFiles: *\nCopyright: the firstflight authors\nLicense: MIT or Apache-2.0\n\n'
    printf 'License: Apache-2.0\n On Debian systems: /usr/share/common-licenses/Apache-2.0\n\n'
    printf 'License: MIT\n'
    sed 's/^$/./; s/^/ /' LICENSE-MIT
} >"$doc/copyright"

printf 'Source: firstflight\n\nPackage: firstflight\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O debian/firstflight/usr/bin/firstflight 2>/dev/null |
    sed -n 's/^shlibs:Depends=//p')
architecture=$(dpkg --print-architecture)
cat >"$root/DEBIAN/control" <<CONTROL
Package: firstflight
Version: $version-1
Architecture: $architecture
Maintainer: the firstflight authors <firstflight@users.noreply.github.com>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Recommends: iproute2
Section: net
Priority: optional
Homepage: https://github.com/firstflight/firstflight
Description: compare TCP and QUIC slow-start and loss-recovery algorithms
 HyStart, HyStart++, SEARCH, BEST, Rapid Start and more, with PRR, RACK and other
 recoveries, on any path: in a simulator, in real QUIC stacks and in the running
 kernel. Reads captures and qlogs and says which algorithm suits their paths.
CONTROL
find "$root" -type d -exec chmod 755 {} +
find "$root" -type f ! -path '*/bin/*' -exec chmod 644 {} +
package=$dist/firstflight_$version-1_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
made "$package"
