#!/bin/sh
# The simulator beside ns-3, in one run on this machine: the same flows through the same bottleneck, what came of them, and what they
# cost. Both sides print one line of key=value pairs (benches/ns3/bottleneck.cc, crates/firstflight-sim/examples/bulk.rs); runs are
# interleaved, times are CPU times of the process or thread, medians of ROUNDS (default 3). Exit status 1 if a result is out of tolerance.
#
#   benches/ns3.sh                 Debian: packages ns3, libns3-dev, g++
#   benches/ns3.sh wheel           the newest Python wheel, installed by pip into a virtual environment in the build directory; g++
#   NS3_FLAGS="-I... -L... ..."    another build of ns-3: its flags for the compiler and the linker
#
# A run of ns-3 that takes more than 20 s of CPU time (the wheel's long recoveries with an ACK per packet) is not repeated.
set -eu
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=${CARGO_TARGET_DIR:-target}

. benches/ns3-flags.sh
case ${1:-} in
'') ;;
wheel) wheel || { echo 'bench: skipped, the wheel of ns-3 cannot be installed'; exit 0; } ;;
*) echo "usage: benches/ns3.sh [wheel]" >&2; exit 2 ;;
esac

command -v g++ >/dev/null 2>&1 || { echo 'bench: skipped, no g++'; exit 0; }
flags=${NS3_FLAGS:--lns3-core -lns3-network -lns3-internet -lns3-point-to-point -lns3-applications -lns3-traffic-control}
# shellcheck disable=SC2086 # flags are words
if ! g++ -O2 -std=${NS3_STD:-c++17} benches/ns3/bottleneck.cc -o "$work/theirs" $flags 2>"$work/errors"; then
    echo 'bench: skipped, ns-3 is not there or does not fit:'
    head -n 3 "$work/errors"
    exit 0
fi
cargo build --release --quiet -p firstflight-sim --example bulk
ours="$target/release/examples/bulk"

# A value of a line.
value() { tr ' ' '\n' <"$1" | sed -n "s/^$2=//p"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# name, times, words: runs both sides in turn and keeps medians in $work/NAME.{ours,theirs}.cpu, the last lines beside.
pair() {
    name=$1 times=$2
    shift 2
    : >"$work/$name.ours.cpus"
    : >"$work/$name.theirs.cpus"
    for _ in $(seq "$rounds"); do
        # What only one side knows is not passed to the other.
        words=
        for word in "$@"; do case $word in preset=*) ;; *) words="$words --$word" ;; esac; done
        # shellcheck disable=SC2086 # words are words
        if [ ! -s "$work/$name.theirs.cpus" ] || [ "$(value "$work/$name.theirs" cpu_s | cut -d. -f1)" -le 20 ]; then
            "$work/theirs" $words >"$work/$name.theirs"
            value "$work/$name.theirs" cpu_s >>"$work/$name.theirs.cpus"
        fi
        "$ours" "$@" "times=$times" >"$work/$name.ours"
        value "$work/$name.ours" cpu_s >>"$work/$name.ours.cpus"
    done
}

line() { printf '%-44s %12s %12s %9s  %s\n' "$@"; }
packets_a_second() { awk -v p="$1" -v s="$2" 'BEGIN { printf "%.0f", p / s }'; }

# name, title
speed() {
    ours_cpu=$(median <"$work/$1.ours.cpus")
    theirs_cpu=$(median <"$work/$1.theirs.cpus")
    ours_rate=$(packets_a_second "$(value "$work/$1.ours" data_packets)" "$ours_cpu")
    theirs_rate=$(packets_a_second "$(value "$work/$1.theirs" data_packets)" "$theirs_cpu")
    line "$2" "$ours_rate" "$theirs_rate" "$(awk -v a="$ours_rate" -v b="$theirs_rate" 'BEGIN { printf "%.0f", a / b }')" ''
    line '  memory, MiB' "$(awk -v k="$(value "$work/$1.ours" rss_kib)" 'BEGIN { printf "%.1f", k / 1024 }')" \
        "$(awk -v k="$(value "$work/$1.theirs" rss_kib)" 'BEGIN { printf "%.1f", k / 1024 }')" '' ''
}

failed=0
# title, key, tolerance in percent, name
same() {
    a=$(value "$work/$4.ours" "$2")
    b=$(value "$work/$4.theirs" "$2")
    apart=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%+.2f", b ? (a / b - 1) * 100 : 0 }')
    verdict=$(awk -v d="$apart" -v t="$3" 'BEGIN { print (d <= t && d >= -t) ? "within " t " %" : "OUT OF " t " %" }')
    case $verdict in OUT*) failed=1 ;; esac
    line "$1" "$a" "$b" "$apart %" "$verdict"
}

# name, title, tolerance of the first drop's time and of the window then
compare() {
    same "$2: bytes delivered" delivered_bytes 1 "$1"
    same '  first drop, s' first_drop_s "$3" "$1"
    same '  window then, bytes' cwnd_at_first_drop "$3" "$1"
    case $1 in
    reno*) same '  drops' drops 2 "$1" ;;
    *) line '  drops' "$(value "$work/$1.ours" drops)" "$(value "$work/$1.theirs" drops)" '' 'not held equal' ;;
    esac
}

for rtt in 30 140; do
    pair "reno$rtt" 20 "rtt=$rtt" cc=newreno ackEvery=1
    pair "cubic$rtt" 20 "rtt=$rtt" hystart=0 ackEvery=1
    pair "hystart$rtt" 20 "rtt=$rtt" hystart=1 ackEvery=1
    pair "delayed$rtt" 20 "rtt=$rtt" hystart=1
done
pair many 10 rtt=30 flows=100 hystart=1
pair manyrack 10 rtt=30 flows=100 hystart=1 preset=rack

echo '100 Mbit/s, drop-tail queue of one BDP, 10 s simulated'
echo
line 'data packets per second of CPU time' firstflight ns-3 ratio ''
for rtt in 30 140; do
    speed "reno$rtt" "1 flow, $rtt ms, NewReno, an ACK per packet"
    speed "cubic$rtt" "1 flow, $rtt ms, CUBIC, an ACK per packet"
    speed "delayed$rtt" "1 flow, $rtt ms, CUBIC with HyStart"
done
speed many '100 flows, 30 ms, CUBIC with HyStart'
speed manyrack '100 flows, 30 ms, ours with RACK'
echo
line 'ours over the RTT, 1 flow, CUBIC, no HyStart' 'ns a packet' 'data packets' '' ''
for rtt in 30 60 140 300 600; do
    : >"$work/cpus"
    for _ in $(seq "$rounds"); do
        "$ours" "rtt=$rtt" seconds=60 hystart=0 times=5 >"$work/line"
        value "$work/line" cpu_s >>"$work/cpus"
    done
    packets=$(value "$work/line" data_packets)
    line "  $rtt ms" "$(awk -v s="$(median <"$work/cpus")" -v p="$packets" 'BEGIN { printf "%.1f", s / p * 1e9 }')" "$packets" '' ''
done
echo
line 'what came of it' firstflight ns-3 difference ''
for rtt in 30 140; do
    # With an ACK for every packet nothing about slow start is left to choose: the two must agree.
    compare "reno$rtt" "$rtt ms, NewReno" 0.5
    compare "cubic$rtt" "$rtt ms, CUBIC" 0.5
    compare "hystart$rtt" "$rtt ms, CUBIC with HyStart" 0.5
    # With delayed ACKs ns-3's CUBIC grows a little slower, and its HyStart looks at other ACKs.
    compare "delayed$rtt" "$rtt ms, the same with delayed ACKs" 10
done
exit "$failed"
