#!/bin/sh
# build.sh PROGRAM SOURCE...: compiles a program of ns-3 together with the module.
#
#   contrib/ns3/build.sh download contrib/ns3/example.cc
#   NS3_FLAGS="-I... -L... ..."    an ns-3 that is not Debian's: its flags for the compiler and the linker; NS3_STD: its C++ standard
#
# Needs libfirstflight (crates/firstflight-c/install.sh or libfirstflight-dev), found by pkg-config, and libns3-dev.
set -eu
program=$1
shift
flags=${NS3_FLAGS:--lns3-core -lns3-network -lns3-internet -lns3-point-to-point -lns3-applications -lns3-traffic-control}
here=$(dirname "$0")
# shellcheck disable=SC2046,SC2086 # flags are words
c++ -O2 -std="${NS3_STD:-c++17}" -Wall -I"$here" -o "$program" "$@" "$here/tcp-firstflight.cc" \
    $(pkg-config --cflags --libs firstflight) $flags
