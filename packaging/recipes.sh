#!/usr/bin/env bash
# Checks what is published beside the programs, each file by its own tool where the machine has it: version and metadata,
# recipes of package managers (made for archives that stand in for the released ones), workflows and actions, scripts.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=recipes
"$python" packaging/recipes.py --check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in {x86_64,aarch64}-unknown-linux-musl.tar.gz universal-apple-darwin.tar.gz source.tar.gz engine.wasm.gz; do
    echo "$name" >"$work/firstflight-$version-$name"
    (cd "$work" && sha256sum "firstflight-$version-$name" >"firstflight-$version-$name.sha256")
done
"$python" packaging/recipes.py "$work" >/dev/null
# with TOOL COMMAND...: runs the command if the machine has the tool.
left=
with() {
    if type -P "$1" >/dev/null; then
        "${@:2}" >"$work/said" 2>&1 || { cat "$work/said" && echo "recipes: failed: ${*:2}" && exit 1; }
    else
        left+=" $1"
    fi
}
with ruby ruby -c "$work/recipes/homebrew/firstflight.rb"
with shellcheck shellcheck "$work/recipes/aur/PKGBUILD"
with nix-instantiate nix-instantiate --parse flake.nix
with shellcheck shellcheck --shell=bash --severity=warning --external-sources --exclude=SC2034,SC2154 packaging/*.sh packaging/action-example/*.sh
with actionlint actionlint

# The checkers that come from PyPI have folders of their own, since they do not agree on what they depend on.
tool() {
    local venv=$target/recipes-venv/$1
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$2" || skip "pip cannot install $2"
}
tool schemas 'check-jsonschema>=0.33,<1'
tool citation 'cffconvert==2.0.0'
tool conda 'py-rattler-build>=0.70,<1'
bin=$target/recipes-venv
with "$bin/schemas/bin/check-jsonschema" "$bin/schemas/bin/check-jsonschema" --builtin-schema vendor.github-workflows \
    .github/workflows/*.yml packaging/action-example/.github/workflows/*.yml
with "$bin/schemas/bin/check-jsonschema" "$bin/schemas/bin/check-jsonschema" --builtin-schema vendor.github-actions \
    .github/actions/check/action.yml
with "$bin/citation/bin/cffconvert" "$bin/citation/bin/cffconvert" --validate
"$bin/conda/bin/python" - "$work/recipes/conda-forge/recipe.yaml" "$version" <<'PYTHON'
import sys
from pathlib import Path
from rattler_build import Stage0Recipe

recipe = Stage0Recipe.from_yaml(Path(sys.argv[1]).read_text()).as_single_output()
assert recipe.context["version"] == sys.argv[2], recipe.context
PYTHON
echo "recipes: metadata, recipes, workflows and scripts are sound${left:+; not checked for lack of:$left}"
