#!/bin/sh
# The same arms through the same bottleneck in ns-3 and in the simulator: completion time, loss and exit of startup.
#
#   contrib/ns3/agreement.sh            Debian: packages libns3-dev, g++, pkg-config
#   contrib/ns3/agreement.sh wheel      the newest Python wheel of ns-3, as in benches/ns3.sh
#   FIRSTFLIGHT=PROGRAM                 the program; built in release mode if it is not named
#
# Exit status 1 if a completion time or an exit is more than 10 % apart, unless ns-3's retransmission timer expired: it is ns-3's own,
# and expires in recoveries longer than itself.
set -eu
cd "$(dirname "$0")/../.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
. benches/ns3-flags.sh
for tool in c++ pkg-config; do
    command -v $tool >/dev/null 2>&1 || { echo "ns3: skipped, no $tool"; exit 0; }
done
case ${1:-} in
'') ;;
wheel) wheel || { echo 'ns3: skipped, the wheel of ns-3 cannot be installed'; exit 0; } ;;
*) echo "usage: contrib/ns3/agreement.sh [wheel]" >&2; exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! echo '#include "ns3/core-module.h"' | c++ -std="${NS3_STD:-c++17}" ${NS3_FLAGS:-} -fsyntax-only -x c++ - 2>/dev/null; then
    echo 'ns3: skipped, ns-3 is not there (on Debian, as root: apt-get install libns3-dev)'
    exit 0
fi
PREFIX=$work/library CARGO_TARGET_DIR=$target crates/firstflight-c/install.sh >/dev/null
export PKG_CONFIG_PATH="$work/library/lib/pkgconfig" LD_LIBRARY_PATH="$work/library/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
contrib/ns3/build.sh "$work/download" contrib/ns3/example.cc
if [ -z "${FIRSTFLIGHT:-}" ]; then
    cargo build --quiet --locked --release
    FIRSTFLIGHT=$target/release/firstflight
fi
exec python3 contrib/agreement.py ns-3 "$FIRSTFLIGHT" "$work/download"
