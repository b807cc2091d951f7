#!/usr/bin/env bash
# Carries out the example's workflow on this machine: what the action's steps say, with an archive in a folder in place
# of the release. Shows that a good version passes, a worse one fails, and a damaged archive is refused.
#
#   run.sh PROGRAM    a built firstflight, of which the archive is made
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
program=$(realpath "${1:?names a built firstflight}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A repository as a user has it, and a release as the workflow `release` makes it.
cp -r "$here" "$work/repository"
version=$(sed -n 's/.*actions\/check@v\(.*\)/\1/p' "$here/.github/workflows/congestion.yml")
name=firstflight-$version-$(uname -m)-unknown-linux-musl
mkdir -p "$work/$name" "$work/releases/v$version" "$work/runner"
cp "$program" "$work/$name/firstflight"
python3 "$root/packaging/archive.py" "$work/$name" "$work/releases/v$version/$name.tar.gz"
FIRSTFLIGHT=$program "$work/repository/update.sh" >/dev/null
"$program" diff "$here/baseline.json" "$work/repository/baseline.json" --fail-if changed >/dev/null 2>&1 ||
    { echo "action: baseline.json is old: FIRSTFLIGHT=$program packaging/action-example/update.sh writes it" && exit 1; }

python3 - "$root/.github/actions/check/action.yml" "$here/.github/workflows/congestion.yml" "$work" <<'PYTHON'
import sys
from pathlib import Path


def steps(text: str) -> list[str]:
    """The scripts of an action's steps, in their order."""
    found, lines = [], text.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("      run: ") and not line.endswith("|"):
            found.append(line.removeprefix("      run: "))
        elif line == "      run: |":
            body = []
            for inner in lines[at + 1 :]:
                if inner and not inner.startswith("        "):
                    break
                body.append(inner[8:])
            found.append("\n".join(body))
    return found


action, workflow, work = (Path(name) for name in sys.argv[1:])
install, check = steps(action.read_text())
(work / "install").write_text(install + "\n")
(work / "check").write_text(check + "\n")
found = (line.strip().split(": ", 1) for line in workflow.read_text().splitlines() if line.startswith("          "))
inputs = [(key, value) for key, value in found if key in ("command", "baseline", "tolerance")]
(work / "inputs").write_text("".join(f"{key.upper()}={value!r}\n" for key, value in inputs))
PYTHON

act() {
    cd "$work/repository"
    # As the runner sets them; the command of the workflow unless the caller names another.
    # shellcheck source=/dev/null
    set -a && . "$work/inputs" && set +a
    : >"$work/path" && : >"$work/summary"
    local environment=(env -i HOME="$work" RUNNER_TEMP="$work/runner" GITHUB_PATH="$work/path"
        GITHUB_STEP_SUMMARY="$work/summary" GITHUB_ACTION_PATH="$root/.github/actions/check"
        RELEASES="file://$work/releases" COMMAND="${1:-$COMMAND}" BASELINE="$BASELINE" TOLERANCE="$TOLERANCE"
        JUNIT="$work/junit.xml" PROGRAM=firstflight COMMENT=false PULL=)
    "${environment[@]}" PATH=/usr/bin:/bin VERSION="v$version" bash -e "$work/install" || return
    "${environment[@]}" PATH="$(cat "$work/path"):/usr/bin:/bin" bash -e "$work/check" >/dev/null
}
(act)
grep -q 'failures="0"' "$work/junit.xml"
echo "action: the baseline's own version passes"
code=0
(act "compare --path geo --bytes 4MB --arms hystart++ --iw 2") >/dev/null || code=$?
[ "$code" = 1 ] && grep -q 'worse' "$work/summary" ||
    { echo "action: a smaller window passes with code $code: $(cat "$work/summary")" && exit 1; }
echo "action: a version with a smaller initial window fails: $(grep -o 'more than[^|]*worse' "$work/summary" | head -n 1)"
echo damaged >>"$work/releases/v$version/$name.tar.gz"
code=0
said=$( (act) 2>&1) || code=$?
[ "$code" = 1 ] && [[ $said == *"does not have the checksum"* ]] ||
    { echo "action: a damaged archive gives code $code: $said" && exit 1; }
echo "action: a damaged archive is refused"
