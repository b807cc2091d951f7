#!/usr/bin/env bash
# Checks the form of commit subjects: `area: verb object`, at most 72 characters. Without an argument, those of commits since the rule; with
# one, the message in that file (`make hooks` installs this as Git's commit-msg hook).
set -euo pipefail
since=9a5184cb
form='^([a-z0-9_./-]+(, [a-z0-9_./-]+)*: [a-z].*[^.]|Merge .*|Revert .*)$'
if [ $# -gt 0 ]; then
    subjects=$(grep -v '^#' "$1" | head -n 1)
else
    cd "$(dirname "$0")/.."
    # A checkout without history has nothing to check.
    subjects=$(git log --no-merges --format=%s "$since.." 2>/dev/null) || exit 0
fi
code=0
while IFS= read -r subject; do
    [ -n "$subject" ] || continue
    if [ ${#subject} -gt 72 ] || ! grep -qE "$form" <<<"$subject"; then
        echo "commits: \`$subject\`: write \`area: verb object\`, at most 72 characters" && code=1
    fi
done <<<"$subjects"
exit $code
