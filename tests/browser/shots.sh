#!/usr/bin/env bash
# Runs shots.py with the browser and the environment of the browser tests: shots.sh PROGRAM ENGINE SITE FOLDER [--only NAMES].
set -euo pipefail
here=$(dirname "$(realpath "$0")")
venv=$(realpath -m "${VENV:-$here/../../target/venv}")
. "$here/environment.sh"
exec "$venv/bin/python" "$here/shots.py" "$@"
