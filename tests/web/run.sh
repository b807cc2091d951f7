#!/usr/bin/env bash
# Same plan, same bytes: the playground's engine in Node against the program, on PLANS random plans (40).
#
#   tests/web/run.sh PROGRAM ENGINE
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/needs.sh
needs web
[ -e "$2" ] || { echo "web: skipped, no engine: make web builds it, and says what is missing" && exit 0; }
PYTHONDONTWRITEBYTECODE=1 python3 tests/web/same.py "$1" "$2" "${PLANS:-40}" "${FIRST:-0}"
