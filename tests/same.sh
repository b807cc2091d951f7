#!/usr/bin/env bash
# Whether two builds of the program give the same bytes, for a change that means to change none:
#
#   tests/same.sh PROGRAM FOLDER     writes the JSON and CSV of the commands below, and event logs, into FOLDER
#   tests/same.sh A B                compares two programs or two such folders: names what differs, and ends with 1 if anything does
#
# The first argument is a program, or a folder that the first form wrote. A second run of the same program differs in nothing:
# what a document says of the machine and the time is cut out of it.
set -euo pipefail
# One of each startup, avoidance, recovery and profile.
arms='slowstart,limited,hystart,hystart++,hystart++(mode=lss),search,search(version=3.1),best,best-published,rapid,bbr,bbr3,careful(saved=300,rtt=30),plumb,jumpstart,plumb-tolerant'
arms+=',slowstart/cubic(profile=linux)/prr(mode=linux),slowstart/cuback,slowstart/abba,slowstart/abba(version=1),slowstart/reno/sack,slowstart/dctcp,slowstart/prague,hystart/cubic/immediate,slowstart/cubic/halving'
samples=$(cd "$(dirname "$0")/../samples" && pwd)

write() {
    local program
    program=$(realpath "$1") && mkdir -p "$2"
    (
        cd "$2"
        for transport in quic tcp; do
            for path in rapid-slide lte geo; do
                keep "compare-$transport-$path.json" compare --transport $transport --path $path --bytes 2MB --repeat 3 --limit 60s --json -
            done
            keep "compare-$transport.csv" compare --transport $transport --repeat 2 --format csv
            keep "compare-$transport-flows.json" compare --transport $transport --flows 2 --repeat 1 --limit 30s --json -
            keep "vectors-$transport.json" vectors --transport $transport --json -
            "$program" compare --transport $transport --arms "$arms" --bytes 1MB --repeat 1 --limit 60s --trace "trace-$transport/" >/dev/null 2>&1 || true
            "$program" compare --transport $transport --arms plumb,bbr3,search --bytes 300kB --repeat 1 --qlog "qlog-$transport/" >/dev/null 2>&1 || true
        done
        keep compare-resume.json compare --resume --arms careful,plumb --json -
        keep compare-linux26.json compare --transport tcp --detection linux26 --path rate=20Mbit,rtt=40ms,queue=1bdp,loss=1% --repeat 2 --json -
        keep compare-stacks.json compare --on quic --bytes 1MB --json -
        keep sweep.csv compare --sweep rate=10Mbit,100Mbit --repeat 2 --format csv
        keep ab.json ab --population cdn --flows 300 --json -
        keep ab-tcp.json ab --population mobile --transport tcp --flows 100 --json -
        for file in "$samples"/*.gz "$samples"/lossy-mobile; do
            name=$(basename "$file")
            keep "advise-$name.json" advise --json - "$file"
            keep "replay-$name.json" replay --json - "$file"
            keep "identify-$name.json" replay --identify --json - "$file"
        done
        keep conform.json conform slowstart/cubic/immediate --against slowstart/reno/immediate --json -
        for stack in noq quinn s2n quiche; do
            keep "conform-$stack.json" conform "$stack:cubic" --json -
        done
        keep evaluate.json evaluate plumb --quick --json -
        keep reproduce.json reproduce --all --quick --json -
        keep reproduce.csv.out reproduce --all --quick --csv reproduce.csv
    )
}

# The output of a command, in a file of this name; its error if it ends with one, which is the same with either program, too.
keep() {
    local to=$1
    shift
    "$program" "$@" >"$to" 2>"$to.err" || echo "ended with $?" >>"$to"
    # What is of the build and of the time it took.
    sed -i -E -e 's/"(commit|date|elapsed|seconds|wall_ms|took)[a-z_]*": *("[^"]*"|[0-9.]+)/"\1": -/' -e '/^(commit|built):/d' "$to"
    rm -f "$to.err"
}

case ${2:-} in
'') sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
if [ -f "$1" ] && [ ! -f "$2" ]; then
    write "$1" "$2"
    exit
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sides=()
for side in "$1" "$2"; do
    if [ -f "$side" ]; then
        write "$side" "$scratch/${#sides[@]}"
        side=$scratch/${#sides[@]}
    fi
    sides+=("$side")
done
diff -rq "${sides[@]}" && echo "the same: $(find "${sides[0]}" -type f | wc -l) files"
