# For sourcing, with $venv set: Chromium, its driver and what Python needs are there, or the part is skipped.
. "$(dirname "${BASH_SOURCE[0]}")/../needs.sh"
needs browser
CHROMIUM=$(browser)
CHROMEDRIVER=$(driver)
export CHROMIUM CHROMEDRIVER

if ! "$venv/bin/python" -c 'import pytest, selenium' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$(dirname "${BASH_SOURCE[0]}")/requirements.txt" ||
        skip "pip cannot install requirements.txt"
fi

# Selenium is to use the driver it is given and to fetch nothing.
export SE_OFFLINE=true SE_AVOID_STATS=true PYTHONDONTWRITEBYTECODE=1
