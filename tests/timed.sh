#!/usr/bin/env bash
# tests/timed.sh FILE PART COMMAND...: runs the command and adds a line to FILE: the part, seconds of wall clock, seconds of processor time.
set -uo pipefail
file=$1 part=$2
shift 2
code=0
begin=$(date +%s.%N)
"$@" || code=$?
end=$(date +%s.%N)
# The second line of `times` is what the children have used: 1m2.345s 0m6.789s. In a pipe it would be asked of a shell that has none.
used=$(mktemp)
times >"$used"
spent=$(tail -n 1 "$used" | tr 'ms' '  ')
rm "$used"
awk -v part="$part" -v begin="$begin" -v end="$end" -v spent="$spent" 'BEGIN {
    split(spent, used, " ")
    printf "%-8s %6.0f s %6.0f s of processor time\n", part, end - begin, 60 * (used[1] + used[3]) + used[2] + used[4]
}' >>"$file"
exit "$code"
