#!/bin/sh
# Builds libfirstflight and installs it: the shared library with its SONAME, the static library, the header, and files for
# pkg-config and CMake. Needs cargo and a linker of GNU's options (Linux, BSD).
#
#   install.sh                                  below /usr/local
#   PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu DESTDIR=/tmp/root install.sh
#   PROFILE=dev install.sh                      with another profile of cargo
#
# The SONAME ends in 0 for good: structs carry their size, so no version breaks a program (include/firstflight.h).
set -eu
cd "$(dirname "$0")"
profile=${PROFILE:-release}
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
include=$prefix/include
root=${DESTDIR:-}
version=$(cargo pkgid | sed 's/.*[#@]//')
target=${CARGO_TARGET_DIR:-$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')}
output=$profile
[ "$profile" != dev ] || output=debug

# Relative to where cargo runs, which is this folder.
cargo rustc --quiet --lib --profile "$profile" --crate-type staticlib
cargo rustc --quiet --lib --profile "$profile" --crate-type cdylib -- -C link-arg=-Wl,-soname,libfirstflight.so.0

install -d "$root$libdir/pkgconfig" "$root$libdir/cmake/firstflight" "$root$include"
install -m 644 include/firstflight.h "$root$include/"
install -m 644 "$target/$output/libfirstflight_c.a" "$root$libdir/libfirstflight.a"
install -m 644 "$target/$output/libfirstflight_c.so" "$root$libdir/libfirstflight.so.$version"
strip --strip-debug "$root$libdir/libfirstflight.a"
strip --strip-unneeded "$root$libdir/libfirstflight.so.$version"
ln -sf "libfirstflight.so.$version" "$root$libdir/libfirstflight.so.0"
ln -sf libfirstflight.so.0 "$root$libdir/libfirstflight.so"

cat >"$root$libdir/pkgconfig/firstflight.pc" <<PC
prefix=$prefix
libdir=$libdir
includedir=$include

Name: firstflight
Description: TCP and QUIC startup and loss recovery
URL: https://github.com/firstflight/firstflight
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lfirstflight
Libs.private: -lpthread -ldl -lm
PC
cat >"$root$libdir/cmake/firstflight/firstflightConfig.cmake" <<CMAKE
# find_package(firstflight REQUIRED); target_link_libraries(PROGRAM firstflight::firstflight)
if(NOT TARGET firstflight::firstflight)
  add_library(firstflight::firstflight SHARED IMPORTED)
  set_target_properties(firstflight::firstflight PROPERTIES
    IMPORTED_LOCATION "$libdir/libfirstflight.so.0"
    IMPORTED_SONAME libfirstflight.so.0
    INTERFACE_INCLUDE_DIRECTORIES "$include")
endif()
CMAKE
cat >"$root$libdir/cmake/firstflight/firstflightConfigVersion.cmake" <<CMAKE
set(PACKAGE_VERSION $version)
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
CMAKE
echo "libfirstflight $version installed in $root$libdir"
