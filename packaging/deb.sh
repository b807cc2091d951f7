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

begin_deb
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
copyright "$doc"

depends=$(needed firstflight usr/bin/firstflight)
deb "$root" <<CONTROL
Package: firstflight
Depends: $depends
Recommends: iproute2
Section: net
Description: compare TCP and QUIC slow-start and loss-recovery algorithms
 HyStart, HyStart++, SEARCH, BEST, Rapid Start and more, with PRR, RACK and other
 recoveries, on any path: in a simulator, in real QUIC stacks and in the running
 kernel. Reads captures and qlogs and says which algorithm suits their paths.
CONTROL
