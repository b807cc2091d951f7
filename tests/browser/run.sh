#!/usr/bin/env bash
# Runs the browser tests on the pages that FIRSTFLIGHT_REPORT, _AB, _REPRODUCTION, _ADVICE, _REPLAY and _DIFF name and against the program that
# FIRSTFLIGHT_SERVE names, if it names one, with the engine of FIRSTFLIGHT_ENGINE_FILE, if that is there, in a Python environment of their own (VENV). Installs Chromium where
# that is possible: on Debian, as root. Where it is not, says what is missing and skips; with CI=true that is an error. What runs the simulator is tested in Firefox,
# too, where that and geckodriver are there: Debian has no package of the latter (`cargo install geckodriver`), the machines of GitHub have both.
set -euo pipefail
: "${FIRSTFLIGHT_REPORT:?names the page to look at; make browser makes one}"
FIRSTFLIGHT_REPORT=$(realpath "$FIRSTFLIGHT_REPORT")
venv=$(realpath -m "${VENV:-$(dirname "$0")/../../target/venv}")
for page in FIRSTFLIGHT_AB FIRSTFLIGHT_REPRODUCTION FIRSTFLIGHT_ADVICE FIRSTFLIGHT_REPLAY FIRSTFLIGHT_DIFF; do
    if [ -n "${!page:-}" ]; then export "$page=$(realpath "${!page}")"; fi
done
export FIRSTFLIGHT_REPORT
tests=(test_report.py test_still.py)
simulating=()
if [ -n "${FIRSTFLIGHT_SERVE:-}" ]; then
    FIRSTFLIGHT_SERVE=$(realpath "$FIRSTFLIGHT_SERVE")
    export FIRSTFLIGHT_SERVE
    tests+=(test_http3.py)
    if [ -e "${FIRSTFLIGHT_ENGINE_FILE:-}" ]; then
        FIRSTFLIGHT_ENGINE_FILE=$(realpath "$FIRSTFLIGHT_ENGINE_FILE")
        export FIRSTFLIGHT_ENGINE_FILE
        simulating=(test_inside.py test_playground.py)
    else
        echo "browser: without the playground, make web builds its engine"
    fi
fi
cd "$(dirname "$0")"

. ./environment.sh
"$venv/bin/python" -m pytest -q -p no:cacheprovider "${tests[@]}" "${simulating[@]}"

[ ${#simulating[@]} -gt 0 ] || exit 0
FIREFOX=$(type -P "${FIREFOX:-firefox}" || type -P firefox-esr || true)
GECKODRIVER=$(type -P "${GECKODRIVER:-geckodriver}" || true)
if [ -z "$FIREFOX" ] || [ -z "$GECKODRIVER" ]; then
    echo "browser: without Firefox, which needs firefox and geckodriver on the PATH"
    exit 0
fi
export FIREFOX GECKODRIVER BROWSER=firefox
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "${simulating[@]}"
