#!/usr/bin/env bash
# Writes the baseline again, with the command of the workflow; or into another file.
set -euo pipefail
baseline=${1:-$(dirname "$0")/baseline.json}
workflow=$(dirname "$0")/.github/workflows/congestion.yml
# shellcheck disable=SC2046 # words of a command
${FIRSTFLIGHT:-firstflight} $(sed -n 's/^ *command: //p' "$workflow") --json "$baseline"
