"""Writes what other package managers install firstflight by, for the version in Cargo.toml:

  recipes.py DIST     into DIST/recipes, from the archives in DIST and their checksums: a Homebrew formula, a PKGBUILD and
                      .SRCINFO for the AUR, a recipe for conda-forge
  recipes.py --check  fails if CITATION.cff, .zenodo.json, the action or a crate names another version or title
"""

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text())
WORKSPACE = CARGO["workspace"]["package"]
VERSION, REPOSITORY = WORKSPACE["version"], WORKSPACE["repository"]
RELEASE = f"{REPOSITORY}/releases/download/v{VERSION}"
ABOUT = "Compare slow start and loss recovery of TCP and QUIC"


def checksum(dist: Path, name: str) -> str:
    """The SHA-256 that stands beside an archive."""
    file = dist / f"{name}.sha256"
    if not file.exists():
        sys.exit(f"recipes: {file} is missing; packaging/static.sh, native.sh and source.sh make the archives")
    digest, of = file.read_text().split()
    if of != name or not re.fullmatch("[0-9a-f]{64}", digest):
        sys.exit(f"recipes: {file} is not the checksum of {name}")
    return digest


def archive(target: str) -> str:
    return f"firstflight-{VERSION}-{target}.tar.gz"


ARM, INTEL, MAC = archive("aarch64-unknown-linux-musl"), archive("x86_64-unknown-linux-musl"), archive("universal-apple-darwin")
SOURCE, ENGINE = f"firstflight-{VERSION}-source.tar.gz", f"firstflight-{VERSION}-engine.wasm.gz"


def formula(sums: dict[str, str]) -> str:
    def package(name: str, indent: str) -> str:
        return f'{indent}url "{RELEASE}/{name}"\n{indent}sha256 "{sums[name]}"\n'

    return f"""class Firstflight < Formula
  desc "{ABOUT}"
  homepage "{REPOSITORY}"
  version "{VERSION}"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
{package(MAC, "    ")}  end

  on_linux do
    on_arm do
{package(ARM, "      ")}    end
    on_intel do
{package(INTEL, "      ")}    end
  end

  def install
    bin.install "firstflight"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/firstflight.bash" => "firstflight"
    zsh_completion.install "completions/_firstflight"
    fish_completion.install "completions/firstflight.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/firstflight --version")
    assert_match "rapid", shell_output("#{{bin}}/firstflight compare")
  end
end
"""


def pkgbuild(sums: dict[str, str]) -> str:
    return f"""# Maintainer: the firstflight authors <firstflight@users.noreply.github.com>
# shellcheck shell=bash disable=SC2034,SC2154
pkgname=firstflight-bin
pkgver={VERSION.replace("-", "_")}
pkgrel=1
pkgdesc='{ABOUT}'
arch=('x86_64' 'aarch64')
url='{REPOSITORY}'
license=('MIT OR Apache-2.0')
provides=('firstflight')
conflicts=('firstflight')
options=('!strip')
source_x86_64=("{RELEASE}/{INTEL}")
source_aarch64=("{RELEASE}/{ARM}")
sha256sums_x86_64=('{sums[INTEL]}')
sha256sums_aarch64=('{sums[ARM]}')

package() {{
    cd "firstflight-{VERSION}-$CARCH-unknown-linux-musl" || return
    install -Dm755 firstflight "$pkgdir/usr/bin/firstflight"
    install -Dm644 -t "$pkgdir/usr/share/man/man1" man/*.1
    install -Dm644 completions/firstflight.bash "$pkgdir/usr/share/bash-completion/completions/firstflight"
    install -Dm644 -t "$pkgdir/usr/share/zsh/site-functions" completions/_firstflight
    install -Dm644 -t "$pkgdir/usr/share/fish/vendor_completions.d" completions/firstflight.fish
    install -Dm644 -t "$pkgdir/usr/share/licenses/$pkgname" LICENSE-MIT LICENSE-APACHE
}}
"""


def srcinfo(pkgbuild: str) -> str:
    """The fields of a PKGBUILD as `makepkg --printsrcinfo` prints them; the AUR is searched by these."""
    lines = ["pkgbase = firstflight-bin"]
    for key, value in re.findall(r"^([a-z]\w*)=(.+)$", pkgbuild, re.MULTILINE):
        if key != "pkgname":
            lines += [f"\t{key} = {word}" for word in shlex.split(value.strip("()"))]
    return "\n".join(lines) + "\n\npkgname = firstflight-bin\n"


def conda(sums: dict[str, str]) -> str:
    """Compiled from the sources, as conda-forge asks, with the simulator for browsers as a second source."""
    return f"""schema_version: 1

context:
  version: "{VERSION}"

package:
  name: firstflight-cli
  version: ${{{{ version }}}}

source:
  - url: {RELEASE}/{SOURCE}
    sha256: {sums[SOURCE]}
  - url: {RELEASE}/{ENGINE}
    sha256: {sums[ENGINE]}
    file_name: engine.wasm.gz

build:
  number: 0
  skip: win
  script:
    - cargo-bundle-licenses --format yaml --output THIRDPARTY.yml
    - export FIRSTFLIGHT_ENGINE="$SRC_DIR/engine.wasm.gz"
    - cargo install --locked --no-track --profile dist --root "$PREFIX" --path crates/firstflight-cli

requirements:
  build:
    - ${{{{ compiler("rust") }}}}
    - ${{{{ compiler("c") }}}}
    - ${{{{ stdlib("c") }}}}
    - cargo-bundle-licenses

tests:
  - script:
      - firstflight --version
      - firstflight compare

about:
  homepage: {REPOSITORY}
  repository: {REPOSITORY}
  summary: {ABOUT}
  license: {WORKSPACE["license"]}
  license_file:
    - LICENSE-MIT
    - LICENSE-APACHE
    - THIRDPARTY.yml

extra:
  recipe-maintainers:
    - firstflight
"""


def check() -> None:
    wrong = []
    citation = (ROOT / "CITATION.cff").read_text()
    title = re.search(r'^title: "(.+)"$', citation, re.MULTILINE)
    if f"\nversion: {VERSION}\n" not in citation:
        wrong.append(f"CITATION.cff does not say `version: {VERSION}`")
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    if zenodo["version"] != VERSION:
        wrong.append(f".zenodo.json says version {zenodo['version']}, Cargo.toml {VERSION}")
    if not title or zenodo["title"] != title[1]:
        wrong.append(f".zenodo.json says title {zenodo['title']!r}, CITATION.cff {title and title[1]!r}")
    for name in ("packaging/action-example/.github/workflows/congestion.yml", ".github/actions/check/action.yml"):
        if f"firstflight/.github/actions/check@v{VERSION}\n" not in (ROOT / name).read_text():
            wrong.append(f"{name} does not use the action of v{VERSION}")
    for name, dependency in CARGO["workspace"]["dependencies"].items():
        if "path" in dependency and dependency["version"] != VERSION:
            wrong.append(f"Cargo.toml takes {name} {dependency['version']}, not {VERSION}")
    if wrong:
        sys.exit("\n".join(f"recipes: {line}" for line in wrong))
    print(f"recipes: Cargo.toml, CITATION.cff, .zenodo.json and the action agree on {VERSION}")


def write(dist: Path) -> None:
    sums = {name: checksum(dist, name) for name in (ARM, INTEL, MAC, SOURCE, ENGINE)}
    aur = pkgbuild(sums)
    files = {
        "homebrew/firstflight.rb": formula(sums),
        "aur/PKGBUILD": aur,
        "aur/.SRCINFO": srcinfo(aur),
        "conda-forge/recipe.yaml": conda(sums),
    }
    for name, text in files.items():
        file = dist / "recipes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        print(f"recipes: {file}")


if len(sys.argv) != 2:
    sys.exit(__doc__)
if sys.argv[1] == "--check":
    check()
else:
    write(Path(sys.argv[1]))
