#!/usr/bin/env bash
# Tries what the other scripts have made where nothing else is: each answers a comparison and says
# what to deploy on the paths of a capture, each in less than ten seconds (LIMIT=60 where a machine
# has other work).
#
#   packaging/try.sh static   in a root that holds the program and a capture, not even a C library
#   packaging/try.sh native   the archive of this system (macOS, Windows), which has to print the bytes that README shows
#   packaging/try.sh deb      installed into a bare Debian (mmdebstrap, root)
#   packaging/try.sh c        the C library likewise: a program is compiled against it and sends a file
#   packaging/try.sh wheel    in an empty environment of Python, without Rust
#   packaging/try.sh sdist    built by pip from the sources (minutes), then as the wheel
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
work=$(mktemp -d "${TMPDIR:-/var/tmp}/firstflight-try.XXXXXX")
# A root may have mounts; and only GNU's programs know this option.
remove=(rm -rf)
[ "$(uname -s)" != Linux ] || remove+=(--one-file-system)
trap '"${remove[@]}" "$work"' EXIT
root=$work/root

# Runs a command of the program, which has to end well and to say what is expected, in time.
answers() {
    local expected=$1 spent
    shift
    TIMEFORMAT='%R s, %U s of processor time'
    # macOS has no such program: there, the job's limit holds.
    ! type -P timeout >/dev/null || set -- timeout "${LIMIT:-10}" "$@"
    spent=$({ time "$@" >"$work/answer" 2>&1; } 2>&1) ||
        { echo "$part: failed: $*: $(cat "$work/answer"); $spent" && exit 1; }
    grep -q "$expected" "$work/answer" ||
        { echo "$part: no \"$expected\" in: $(cat "$work/answer")" && exit 1; }
    echo "$part: ${*: -2} answers in $spent"
}
# A root is entered by root, or in a namespace where everybody is.
enter() {
    local way=(chroot)
    [ "$(id -u)" = 0 ] || way=(unshare --map-root-user chroot)
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ "${way[@]}" "$root" "$@"
}
export -f enter
export root

try_static() {
    part="try static"
    local name machine
    machine=$(uname -m)
    name=firstflight-$version-$machine-unknown-linux-musl
    [ -e "$dist/$name.tar.gz" ] || { echo "$part: skipped, static.sh made nothing" && return; }
    mkdir -p "$root"
    tar -xzf "$dist/$name.tar.gz" -C "$root" --strip-components=1 "$name/firstflight"
    cp samples/satellite.pcap.gz "$root/"
    answers rapid bash -c 'enter "$@"' - /firstflight compare
    answers "Check " bash -c 'enter "$@"' - /firstflight advise --flows 300 satellite.pcap.gz
}

try_native() {
    part="try native"
    local archive program=$work/program/firstflight
    for archive in "$dist/firstflight-$version"-{universal-apple-darwin.tar.gz,*-pc-windows-*.zip,*-linux-gnu.tar.gz} ""; do
        [ ! -e "$archive" ] || break
    done
    [ -n "$archive" ] || { echo "$part: skipped, native.sh made nothing" && return; }
    "$python" -c 'import shutil, sys; shutil.unpack_archive(*sys.argv[1:])' "$archive" "$work/unpacked"
    mv "$work"/unpacked/* "$work/program"
    chmod 755 "$program"*
    answers rapid "$program" compare
    # Standard output alone, as in the document: without blanks at the ends of lines.
    sed -n '/^<!-- output: firstflight compare -->$/,/^```$/p' README.md | sed '1,2d;$d' >"$work/documented"
    "$program" compare 2>/dev/null | sed 's/ *$//' >"$work/printed"
    diff "$work/documented" "$work/printed" || { echo "$part: compare prints other bytes than README" && exit 1; }
    # Every number of a document, too.
    local example=packaging/action-example
    FIRSTFLIGHT=$program "$example/update.sh" "$work/now.json" >/dev/null
    "$program" diff "$example/baseline.json" "$work/now.json" --fail-if changed >/dev/null ||
        { echo "$part: other numbers than $example/baseline.json" && exit 1; }
    answers "Check " "$program" advise --flows 300 samples/satellite.pcap.gz
    echo "$part: the same bytes as in README, the same numbers as in $example/baseline.json"
}

# A bare Debian with packages of ours and of Debian's.
bare() {
    [ "$(id -u)" = 0 ] || { echo "$part: skipped, making a root takes root" && exit; }
    needs fresh
    . /etc/os-release
    mmdebstrap --quiet --variant=minbase --skip=cleanup/apt/lists "$VERSION_CODENAME" "$root"
    cp /etc/resolv.conf "$root/etc/"
    apt-config dump | grep -iE '^Acquire::(https?::)?(proxy|https?::proxy)' \
        >"$root/etc/apt/apt.conf.d/proxy" || true
    local name packages=()
    for name in "$@"; do
        case $name in
        *firstflight*)
            cp "$dist/${name}_$version-1_$(dpkg --print-architecture).deb" "$root/$name.deb"
            packages+=("/$name.deb")
            ;;
        *) packages+=("$name") ;;
        esac
    done
    enter apt-get -qq install -y --no-install-recommends "${packages[@]}" >/dev/null 2>&1 ||
        { echo "$part: apt cannot install ${packages[*]}" && exit 1; }
}

try_deb() {
    part="try deb"
    bare firstflight
    answers rapid bash -c 'enter "$@"' - firstflight compare
    answers "Check " bash -c 'enter "$@"' - \
        firstflight advise --flows 300 /usr/share/doc/firstflight/examples/satellite.pcap.gz
    # Small images leave manual pages out, so the package is asked.
    dpkg-deb --contents "$root/firstflight.deb" >"$work/contents"
    local file
    for file in man/man1/firstflight-compare.1.gz bash-completion/completions/firstflight \
        zsh/vendor-completions/_firstflight fish/vendor_completions.d/firstflight.fish; do
        grep -q " ./usr/share/$file$" "$work/contents" ||
            { echo "$part: the package has no /usr/share/$file" && exit 1; }
    done
}

try_c() {
    part="try c"
    bare libfirstflight0 libfirstflight-dev gcc libc6-dev pkg-config
    local port=$((20000 + $$ % 20000))
    cat >"$root/try" <<'SH'
set -eu
example=/usr/share/doc/libfirstflight-dev/examples/transfer.c
cc -o transfer $example $(pkg-config --cflags --libs firstflight)
cc -static -o static $example $(pkg-config --static --cflags --libs firstflight)
for program in ./transfer ./static; do
    $program receive $1 &
    $program send 127.0.0.1 $1 2000000 hystart++
    wait $!
done
SH
    answers "received 1667 packets" bash -c 'enter "$@"' - sh /try "$port"
    # Both programs, each with every packet.
    [ "$(grep -c "received 1667 packets" "$work/answer")" = 2 ] ||
        { echo "$part: one program received less: $(cat "$work/answer")" && exit 1; }
}

in_python() {
    cat >"$work/try.py" <<'PYTHON'
import firstflight as ff
print(ff.compare("rate=100Mbit,rtt=30ms,queue=30ms", arms=["slowstart", "hystart++", "rapid"]))
print(ff.ab("cdn", "rapid", flows=300))
PYTHON
    answers rapid env -i "$work/venv/bin/python" -I "$work/try.py"
}

try_wheel() {
    part="try wheel"
    compgen -G "$dist/*.whl" >/dev/null || { echo "$part: skipped, wheels.sh made none" && return; }
    python3 -m venv "$work/venv"
    # pip chooses by what this machine's Python can run.
    env -i HOME="$work" "$work/venv/bin/pip" install --quiet --disable-pip-version-check \
        --no-index --find-links "$dist" --only-binary :all: firstflight
    in_python
}

try_sdist() {
    part="try sdist"
    python3 -m venv "$work/venv"
    # The profile of the tests: this shows that everything is there, not how fast it is.
    MATURIN_PEP517_ARGS="--profile dev" CARGO_TARGET_DIR=$target/sdist "$work/venv/bin/pip" \
        install --quiet --disable-pip-version-check "$dist/firstflight-$version.tar.gz"
    in_python
}

for what in "$@"; do
    "try_$what"
    "${remove[@]}" "$work"/*
done
