#!/usr/bin/env bash
# Builds the documentation as a site: build.sh PROGRAM, a built `firstflight`, which the reference is
# made from. Into target/site; warnings, broken links and pictures older than the program are errors.
# Sphinx and not mdBook, because it installs in seconds where Python is; mdBook compiles for minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
program=$(realpath "${1:?names a built firstflight}")
venv=$target/site-venv

. tests/needs.sh
needs site
if ! cmp -s docs/site/requirements.txt "$venv/requirements.txt"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement docs/site/requirements.txt ||
        skip "pip cannot install docs/site/requirements.txt"
    cp docs/site/requirements.txt "$venv/requirements.txt"
fi

export PYTHONDONTWRITEBYTECODE=1
"$venv/bin/python" docs/site/pictures.py "$program" docs
"$venv/bin/python" docs/site/results.py "$program" docs
"$venv/bin/python" docs/site/sources.py . "$program" "$target/site-sources"
"$venv/bin/sphinx-build" --quiet --fresh-env --fail-on-warning --keep-going --conf-dir docs/site \
    --doctree-dir "$target/site-doctrees" "$target/site-sources" "$target/site"
echo "site: $(find "$target/site" -name '*.html' | wc -l) pages in $target/site/index.html"
