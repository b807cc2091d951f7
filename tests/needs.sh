#!/usr/bin/env bash
# What each part of `make test` needs beside git, make, gcc, ca-certificates and a Rust toolchain, as Debian packages. This is the only list
# of them; `make fresh` shows in a Debian with nothing else that it is complete.
#
#   . tests/needs.sh; needs PART     installs what is missing, which takes root and Debian; otherwise says so and skips the part (CI: fails)
#   tests/needs.sh PART...           installs what is missing; otherwise says so (CI: fails) and the caller goes on without
#   tests/needs.sh --list PART...    the packages, one per line
#   tests/needs.sh --features        the options for cargo: all features but one, named below, and without those that only the kernel part's
#                                    packages can build where these cannot be had
#   tests/needs.sh --build           the options for cargo with which all is built once: tests (but of libraries whose Cargo.toml says
#                                    `test = false`), the program, Python's engine. With --tests dependencies have the features that tests
#                                    ask of them; without it the lab and all above it would be compiled once more for the program

packages_of() {
    case $1 in
    guide) echo python3 ;;
    unit | quic) echo procps python3 ;;
    kernel) echo clang iproute2 libelf-dev pkg-config procps python3 zlib1g-dev ;;
    python | site) echo python3 python3-venv ;;
    browser) echo chromium chromium-driver python3 python3-venv ;;
    web) echo nodejs python3 ;;
    fuzz) echo g++ ;;
    fresh) echo mmdebstrap ;;
    # What cargo needs to link C code against musl; and dpkg's reader of what a program is linked with.
    static) echo binutils musl-tools ;;
    deb) echo binutils dpkg-dev ;;
    *) echo "needs.sh: no part is called $1" >&2 && return 1 ;;
    esac
}

# What the package is for is there, whoever brought it.
there() {
    case $1 in
    chromium) browser || return 1 ;;
    chromium-driver) driver || return 1 ;;
    g++) type -P c++ ;;
    iproute2) type -P ip && type -P ss && type -P tc ;;
    binutils) type -P strip ;;
    dpkg-dev) type -P dpkg-shlibdeps ;;
    musl-tools) type -P musl-gcc ;;
    nodejs) type -P node ;;
    libelf-dev) [ -e /usr/include/libelf.h ] ;;
    procps) type -P kill ;;
    # Without ensurepip there is no pip inside an environment; Debian keeps it in a package of its own.
    python3-venv) python3 -c 'import ensurepip' ;;
    zlib1g-dev) [ -e /usr/include/zlib.h ] ;;
    *) type -P "$1" ;;
    esac >/dev/null 2>&1
}

browser() { type -P "${CHROMIUM:-chromium}" || type -P chromium-browser || type -P google-chrome; }
driver() { type -P "${CHROMEDRIVER:-chromedriver}"; }

# A part that does not run says why, and CI does not take that for a success.
skip() {
    echo "$part: skipped, $1"
    [ "${CI:-}" != true ] || exit 1
    exit 0
}

# Installs the packages of a part that are missing; leaves in `missing` what could not be had.
install_for() {
    local package
    missing=()
    for package in $(packages_of "$1"); do
        there "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && type -P apt-get >/dev/null || return 0
    echo "$1: installing ${missing[*]}"
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null 2>&1 ||
        { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } </dev/null >/dev/null || return 0
    missing=()
}

needs() {
    # A script that has a name for what it does keeps it.
    part=${part:-$1}
    install_for "$1"
    [ ${#missing[@]} -eq 0 ] || skip "not installed: ${missing[*]} (on Debian, as root: apt-get install ${missing[*]})"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -euo pipefail
    if [ "${1:-}" = --list ]; then
        shift
        for part in "$@"; do packages_of "$part"; done | tr ' ' '\n' | sort -u
        exit
    fi
    if [[ ${1:-} =~ ^--(features|build)$ ]]; then
        install_for kernel >&2
        [ "$1" = --features ] || echo --workspace --tests --lib --bin firstflight
        # s2n-quic's own sockets bring a second library of cryptography, in C, for one example: `make sockets` has them.
        leave="firstflight-quic/s2n-sockets"
        if [ ${#missing[@]} -gt 0 ]; then
            echo "kernel: left out, not installed: ${missing[*]}" >&2
            [ "${CI:-}" != true ] || exit 1
            leave+=" /(bpf|linux|native|full)"
        fi
        cd "$(dirname "$0")/.."
        echo --features "$(cargo metadata --locked --no-deps --format-version 1 | python3 -c '
import json, re, sys
leave = [re.compile(one + "$") for one in sys.argv[1].split()]
members = json.load(sys.stdin)["packages"]
every = [member["name"] + "/" + feature for member in members for feature in member["features"]]
print(",".join(one for one in sorted(every) if not any(regex.search(one) for regex in leave)))' "$leave")"
        exit
    fi
    code=0
    for part in "$@"; do
        install_for "$part"
        if [ ${#missing[@]} -gt 0 ]; then
            echo "$part: without ${missing[*]}, which are not installed: tests that need them are skipped or fail"
            [ "${CI:-}" != true ] || code=1
        fi
    done
    exit "$code"
fi
