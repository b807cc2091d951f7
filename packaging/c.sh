#!/usr/bin/env bash
# Packages for Debian of the C library: libfirstflight0 for programs that are linked with it, and
# libfirstflight-dev for those who link them.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=c
needs deb
begin_deb
library=$work/debian/libfirstflight0
development=$work/debian/libfirstflight-dev
libdir=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
# Optimised in any case: it takes seconds, and what is tried is what is published.
PREFIX=/usr LIBDIR=$libdir DESTDIR=$development crates/firstflight-c/install.sh >/dev/null
mkdir -p "$library$libdir" "$library/DEBIAN" "$development/DEBIAN"
mv "$development$libdir"/libfirstflight.so.* "$library$libdir/"
copyright "$library/usr/share/doc/libfirstflight0"
copyright "$development/usr/share/doc/libfirstflight-dev"
install -D -m 644 -t "$development/usr/share/doc/libfirstflight-dev" crates/firstflight-c/README.md
install -D -m 644 -t "$development/usr/share/doc/libfirstflight-dev/examples" crates/firstflight-c/examples/*.c
# Programs that link it depend on the package from the version whose symbols they use.
echo "libfirstflight 0 libfirstflight0 (>= $version)" >"$library/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$library/DEBIAN/triggers"
depends=$(needed libfirstflight0 "${libdir#/}/libfirstflight.so.0")
deb "$library" <<CONTROL
Package: libfirstflight0
Multi-Arch: same
Depends: $depends
Section: libs
Description: TCP and QUIC startup and loss recovery: shared library
 Every startup, congestion avoidance and loss recovery of firstflight behind one
 C header, for transports in C, C++ and every language that calls C.
CONTROL
deb "$development" <<CONTROL
Package: libfirstflight-dev
Multi-Arch: same
Depends: libfirstflight0 (= $version-1)
Section: libdevel
Description: TCP and QUIC startup and loss recovery: header and static library
 Every startup, congestion avoidance and loss recovery of firstflight behind one
 C header. With files for pkg-config and CMake, and two examples.
CONTROL
