#!/usr/bin/env bash
# Retired phrases (tests/words.txt) in what people read: pages, help, messages, reports. A line for
# each place, and exit code 1. The changelog may name what was retired, and comments in Rust may say
# it, but for those of the command, which are its help.
set -euo pipefail
cd "$(dirname "$0")/.."
places=('*.md' ':!CHANGELOG.md' crates/*/src crates/*/papers python/firstflight experiments packaging '*Cargo.toml')
comment='^crates/(?!firstflight-cli/)[^:]*\.rs:\d+:\s*//'
code=0
while IFS= read -r line; do
    [ -n "$line" ] && [ "${line:0:1}" != "#" ] || continue
    phrase=${line%% => *}
    if git grep --untracked -nIiE -e "$phrase" -- "${places[@]}" | grep -vP "$comment" | cut -c1-200; then
        echo "words: instead of \`$phrase\`: ${line#* => }" && code=1
    fi
done <tests/words.txt
exit $code
