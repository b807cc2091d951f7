#!/usr/bin/env bash
# Installs the Python package into an environment of its own (VENV) and checks style, types, tests, examples and notebooks. Where there is
# no Python with pip, says so and skips; with CI=true that is an error.
#
#   python/test.sh          the package around the engine of the workspace's build, which is the one that all tests share
#   python/test.sh --types  style and types alone, for which nothing is built; with --tests all the rest
#   python/test.sh --wheel  its wheel, as people install it: maturin builds every crate below it again, with fewer features
#   python/test.sh --ray    what needs Ray, and nothing else: its install takes as long as all tests that do without
#   python/test.sh --learn  the whole training of samples/startup.json, whose bytes must come out again, and PPO of Stable-Baselines3,
#                           which brings gigabytes
set -euo pipefail
# Nothing here asks anybody anything; a tool that reads what happens to stand on standard input would be misled.
exec </dev/null
# A relative folder is the caller's.
here=$(realpath "$(dirname "$0")")
target=$(realpath -m "${CARGO_TARGET_DIR:-$here/../target}")
cd "$here"
venv=$(realpath -m "${VENV:-$target/python-venv}")
export CARGO_TARGET_DIR=$target

. ../tests/needs.sh
needs python
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"
if ! cmp -s requirements.txt "$venv/requirements.txt"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt || skip "pip cannot install requirements.txt"
    cp requirements.txt "$venv/requirements.txt"
fi

export MYPYPATH=tests:examples MYPY_CACHE_DIR=$target/mypy PYTHONDONTWRITEBYTECODE=1
if [[ ! ${1:-} =~ ^--(tests|ray|learn)$ ]]; then
    "$venv/bin/ruff" check --quiet --no-cache .
    "$venv/bin/ruff" format --quiet --no-cache --check .
    "$venv/bin/mypy"
    for notebook in notebooks/*.ipynb; do
        script=$target/$(basename "$notebook" .ipynb).py
        "$venv/bin/jupytext" --quiet --to py:percent --output "$script" "$notebook"
        "$venv/bin/mypy" --config-file pyproject.toml "$script"
    done
fi
[ "${1:-}" != --types ] || exit 0

# With the command of the same checkout, whose output the package's has to equal to the byte.
(cd .. && cargo build --quiet --locked $(tests/needs.sh --build))
export FIRSTFLIGHT_BINARY=$target/debug/firstflight

packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
rm -rf "$packages/firstflight" "$packages"/firstflight-*.dist-info
if [ "${1:-}" = --wheel ]; then
    rm -rf "$target/wheels"
    "$venv/bin/maturin" build --quiet --locked --profile dev --out "$target/wheels"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$target"/wheels/*.whl
    echo "python: $(cd "$target/wheels" && ls) built and installed"
else
    cp -r firstflight "$packages/firstflight"
    cp "$target/debug/lib_engine.so" "$packages/firstflight/_engine.abi3.so"
fi

# A checkout may hold an engine built by `maturin develop`; what is tested is the installed package.
tests=("$here/tests" --ignore "$here/tests/test_ray.py")
examples=(--pyargs firstflight --ignore "$packages/firstflight/ray.py")
if [ "${1:-}" = --ray ]; then
    ray=$(sed -n 's/^ray = \["\([^"]*\)".*/\1/p' pyproject.toml)
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$ray" || skip "pip cannot install Ray"
    tests=("$here/tests/test_ray.py")
    examples=(--pyargs firstflight.ray)
fi

if [ "${1:-}" = --learn ]; then
    mkdir -p "$target/learned"
    cd "$target/learned"
    OPENBLAS_NUM_THREADS=1 "$venv/bin/python" "$here/examples/train_startup.py" startup.json
    cmp startup.json "$here/../samples/startup.json"
    # In an environment of its own, where no other test finds them; a copy from one night serves the next.
    [ -x sb3/bin/python ] || python3 -m venv sb3
    sb3/bin/pip install --quiet --disable-pip-version-check stable-baselines3 gymnasium || skip "pip cannot install Stable-Baselines3"
    cp -r "$packages/firstflight" "$(sb3/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')"
    sb3/bin/python "$here/examples/stable_baselines.py" ppo.json
    exit 0
fi

# From a folder of its own: what Python starts here, and every worker of Ray, would find the sources without their engine before the
# installed package.
mkdir -p "$target/python-tests"
cd "$target/python-tests"
"$venv/bin/pytest" -c "$here/pyproject.toml" --rootdir "$here" -p no:cacheprovider "${tests[@]}"
"$venv/bin/pytest" -c "$here/pyproject.toml" --rootdir "$here" -p no:cacheprovider --doctest-modules "${examples[@]}"
