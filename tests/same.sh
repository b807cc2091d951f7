#!/usr/bin/env bash
# Whether two builds of the program give the same bytes, for a change that means to change none:
#
#   tests/same.sh PROGRAM FOLDER     writes the JSON and CSV of the commands below, and event logs, into FOLDER; with a third word,
#                                    `shown`, only what people read: tables in every format and width, annexes, pages
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
    if [ "${3:-}" != shown ]; then
        data "$2"
    fi
    shown "$2"
}

# Every kind of table in every format, for a pipe, narrow and wide; Markdown, annexes and pages.
shown() (
    cd "$1"
    each() {
        local name=$1
        shift
        keep "$name.txt" "$@"
        COLUMNS=70 keep "$name-70.txt" "$@"
        COLUMNS=100 CLICOLOR_FORCE=1 keep "$name-100.txt" "$@" --wide
        for format in md tex csv; do keep "$name.$format" "$@" --format $format; done
    }
    each compare compare --bytes 300kB
    keep compare-columns.txt compare --bytes 300kB --columns loss,exit
    each compare-repeat compare --bytes 300kB --repeat 4 --report compare.html
    each compare-flows compare --flows 2 --repeat 2 --bytes 1MB --limit 30s
    each sweep compare --sweep rate=10Mbit,100Mbit --bytes 300kB --repeat 2 --report sweep.html
    each ab ab --population cdn --flows 200 --report ab.html
    for iw in 10 30; do "$program" compare --bytes 300kB --iw $iw --json iw$iw.json >/dev/null; done
    each diff diff iw10.json iw30.json --report diff.html
    each check check iw10.json --against iw30.json --junit check.xml
    for name in plain.pcap.gz lossy-mobile; do
        each "replay-$name" replay "$samples/$name" --report "replay-$name.html"
    done
    each identify replay --identify "$samples/plain.pcap.gz"
    keep advise.txt advise "$samples/plain.pcap.gz" --report advise.html
    COLUMNS=70 keep advise-70.txt advise "$samples/plain.pcap.gz" --json advise.json
    keep evaluate-all.txt evaluate jumpstart --quick --annex annex.md --report evaluate.html
    each evaluate evaluate plumb --quick --criteria 6.4,7.10,7.11 --seed 3 --json evaluate-some.json
    keep annex.out evaluate jumpstart --quick --criteria 6.4,7.3,7.10,7.11 --exclude 7.3 --seed 3 --annex annex.xml --against evaluate-some.json --junit against.xml --markdown against.md
    each evaluate-list evaluate --list
    each evaluate-dry evaluate plumb --dry-run
    each evaluate-cell evaluate plumb --cell 7.11/incast:8 --report cell.html
    keep reproduce-all.txt reproduce --all --quick --markdown results.md --report results.html --csv results.csv
    each reproduce reproduce neqo browser --quick
    each reproduce-list reproduce --list
    for list in arms paths populations; do each $list $list; done
    each population populations cdn
    each conform conform slowstart/cubic/immediate --against slowstart/reno/immediate
    each analyse trial analyse "$samples/connections.csv.gz" --size bytes --time ttlb_ms --cluster client --report analyse.html
    for file in experiments/best-satellite experiments/gvisor-upload; do
        each "$(basename $file)" run "$samples/../$file.toml"
    done
)

data() {
    (
        cd "$1"
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
    write "$@"
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
