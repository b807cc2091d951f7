#!/usr/bin/env bash
# What the controllers cost in the kernel: processor time per gigabyte, against the kernel's own CUBIC, side by side. One iperf3 sends
# to another between two namespaces; counted are the processes, softirqs included (they run in their context), and ksoftirqd. Every round
# runs all arms in a new order, CUBIC twice, and each is compared with the CUBIC of its own round; the second CUBIC says how much of a
# difference is noise. Then one more run of each with the kernel's statistics of BPF programs on: calls and nanoseconds per gigabyte.
# Needs root, iperf3, taskset and a build with `--features bpf`.
#
#   sudo benches/kernel-cpu.sh [ARM...]      ROUNDS=25 GB=2 RATE=8G CPU=1 OFFLOAD=on|off
#
# OFFLOAD=off sends single packets of 1500 bytes; on is what servers do.
# RATE is what the application writes per second, 0 for as fast as it goes; CPU is where both ends run, `any` for where the scheduler
# likes. Unlimited or on two processors the same controller costs up to half more or less from one transfer to the next: how many bytes
# a wake-up finds is chance.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-25}
gb=${GB:-2}
offload=${OFFLOAD:-on}
rate=${RATE:-8G}
cpu=${CPU:-$(($(nproc) - 1))}
pin=(taskset -c "$cpu")
[ "$cpu" != any ] || pin=()
ff=${FIRSTFLIGHT:-${CARGO_TARGET_DIR:-target}/release/firstflight}
[ "$(id -u)" = 0 ] || { echo 'bench: skipped, needs root'; exit 0; }
for tool in iperf3 ip ss taskset; do command -v $tool >/dev/null || { echo "bench: skipped, no $tool"; exit 0; }; done
[ -x "$ff" ] || { echo "bench: no $ff; cargo build --release --features bpf"; exit 2; }
stock=(kernel:cubic kernel:cubic=again kernel:bbr)
if [ $# -gt 0 ]; then arms=("$@"); else mapfile -t arms < <("$ff" kernel list | awk '$2 ~ /^ff_/ { print $1 }'); fi

work=$(mktemp -d)
here=ff-cpu-$$-a
there=ff-cpu-$$-b
statistics=$(cat /proc/sys/kernel/bpf_stats_enabled)
loader=
tidy() {
    [ -z "$loader" ] || kill "$loader" 2>/dev/null || true
    ip netns del $here 2>/dev/null || true
    ip netns del $there 2>/dev/null || true
    echo "$statistics" >/proc/sys/kernel/bpf_stats_enabled
    rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT TERM
ip netns add $here
ip netns add $there
ip link add ff0 netns $here type veth peer name ff0 netns $there
for end in "$here 1" "$there 2"; do
    set -- $end
    ip -n "$1" addr add 10.78.0."$2"/24 dev ff0
    [ "$offload" = on ] || ip -n "$1" link set ff0 gso_max_segs 1 gso_ipv4_max_size 1500 2>/dev/null || ip -n "$1" link set ff0 gso_max_segs 1
    ip -n "$1" link set ff0 up
done

# Nanoseconds that ksoftirqd has run.
ksoftirqd() { cat $(grep -ls '^ksoftirqd' /proc/[0-9]*/comm | sed 's/comm$/schedstat/') | awk '{ sum += $1 } END { printf "%d", sum }'; }

# Loads an arm of ours, and says its name in the kernel.
load() {
    name=${1#kernel:}
    loader=
    case $1 in kernel:cubic | kernel:bbr | kernel:reno) return ;; kernel:cubic=again) name=cubic && return ;; esac
    "$ff" kernel load "$1" 2>"$work/said" &
    loader=$!
    while ! grep -q . "$work/said" && kill -0 "$loader" 2>/dev/null; do sleep 0.02; done
    name=$(awk '/is loaded/ { print $1; exit }' "$work/said")
    [ -n "$name" ] || { cat "$work/said" >&2; exit 2; }
}

unload() {
    [ -z "$loader" ] && return
    kill -INT "$loader"
    wait "$loader" || true
    loader=
}

# One transfer; seconds of processor time per gigabyte.
transfer() {
    local before after
    before=$(ksoftirqd)
    TIMEFORMAT='%3U %3S'
    { time ip netns exec $there "${pin[@]}" iperf3 -s -1 >/dev/null; } 2>"$work/server" &
    local server=$!
    until ip netns exec $there ss -tlnH | grep -q :5201; do sleep 0.02; done
    { time ip netns exec $here "${pin[@]}" iperf3 -c 10.78.0.2 -C "$name" -b "$rate" -n "${gb}G" >"$work/out" 2>&1; } 2>"$work/client" || { cat "$work/out" >&2; exit 1; }
    wait $server
    after=$(ksoftirqd)
    cat "$work/server" "$work/client" | awk -v k=$((after - before)) -v gb="$gb" '{ sum += $1 + $2 } END { printf "%.4f", (sum + k / 1e9) / gb / 1.073741824 }'
}

echo 0 >/proc/sys/kernel/bpf_stats_enabled
for round in $(seq 0 "$rounds"); do
    for arm in $(printf '%s\n' "${stock[@]}" "${arms[@]}" | shuf); do
        load "$arm"
        seconds=$(transfer)
        unload
        # The first round only warms up.
        [ "$round" = 0 ] || echo "$round $arm $seconds" >>"$work/seconds"
    done
done
echo 1 >/proc/sys/kernel/bpf_stats_enabled
for arm in "${arms[@]}"; do
    load "$arm"
    transfer >/dev/null
    cat /proc/"$loader"/fdinfo/* 2>/dev/null |
        awk -v arm="$arm" -v gb="$gb" '/^prog_id:/ { id = $2 } /^run_time_ns:/ { ns[id] = $2 } /^run_cnt:/ { n[id] = $2 }
            END { for (id in ns) { all += ns[id]; calls += n[id] } gb *= 1.073741824; printf "%s %.1f %.0f %.0f\n", arm, all / gb / 1e6, calls / gb, calls ? all / calls : 0 }' >>"$work/programs"
    unload
done

echo "Processor time per gigabyte over veth, offload $offload, $rate bit/s on processor $cpu, $rounds rounds of $gb GiB, Linux $(uname -r | cut -d- -f1), load $(cut -d' ' -f1 /proc/loadavg)"
printf '%-32s %8s %10s %18s %22s %10s %8s\n' arm s/GB 'to cubic' '(95 % of medians)' 'BPF ms/GB (of cubic)' calls/GB ns/call
# Each arm's seconds and its ratio to CUBIC of the same round; of the ratios the median and what order statistics say of it.
awk '$2 == "kernel:cubic" { base[$1] = $3 } { round[NR] = $1; arm[NR] = $2; took[NR] = $3 }
    END { for (i = 1; i <= NR; i++) printf "%s %s %.6f\n", arm[i], took[i], took[i] / base[round[i]] }' "$work/seconds" >"$work/ratios"
for arm in $(cut -d' ' -f1 "$work/ratios" | sort -u); do
    seconds=$(awk -v a="$arm" '$1 == a { print $2 }' "$work/ratios" | sort -n | awk '{ v[NR] = $1 } END { printf "%.4f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }')
    ratio=$(awk -v a="$arm" '$1 == a { print $3 }' "$work/ratios" | sort -n | awk '
        function percent(x) { return (x - 1) * 100 }
        { v[NR] = $1 }
        END {
            low = int(NR / 2 - 0.98 * sqrt(NR)); low = low < 1 ? 1 : low
            printf "%+.1f %+.1f %+.1f", percent((v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2), percent(v[low]), percent(v[NR + 1 - low])
        }')
    echo "$arm $seconds $ratio"
done | sort -k2,2n >"$work/medians"
base=$(awk '$1 == "kernel:cubic" { print $2 }' "$work/medians")
while read -r arm seconds median low high; do
    programs=$(awk -v a="$arm" -v b="$base" '$1 == a { printf "%13.1f (%4.1f %%) %10d %8d", $2, $2 / b / 10, $3, $4 }' "$work/programs")
    printf '%-32s %8s %9s%% %18s %s\n' "$arm" "$seconds" "$median" "[$low, $high]" "$programs"
done <"$work/medians"
