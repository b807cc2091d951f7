#!/usr/bin/env bash
# Opens what `make pages` wrote in Chromium, and in Firefox where that and geckodriver are there, from a server of its own:
# pages.sh FOLDER.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
venv=$(realpath -m "${VENV:-$here/../../target/venv}")
FIRSTFLIGHT_PAGES=$(realpath "$1")
export FIRSTFLIGHT_PAGES
cd "$here"
. ./environment.sh
"$venv/bin/python" -m pytest -q -p no:cacheprovider test_pages.py
FIREFOX=$(type -P "${FIREFOX:-firefox}" || type -P firefox-esr || true)
GECKODRIVER=$(type -P "${GECKODRIVER:-geckodriver}" || true)
if [ -z "$FIREFOX" ] || [ -z "$GECKODRIVER" ]; then
    echo "pages: without Firefox, which needs firefox and geckodriver on the PATH"
    exit 0
fi
export FIREFOX GECKODRIVER BROWSER=firefox
"$venv/bin/python" -m pytest -q -p no:cacheprovider test_pages.py
