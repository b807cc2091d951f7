#!/usr/bin/env bash
# The README's second command where nothing is installed. Makes a bare Debian (this host's release, from the archive this host uses: minbase,
# git, make, gcc, ca-certificates and the Rust toolchain of this host), copies the checkout into it and lets every part of `make test` install
# what it needs; then builds there what is made of system packages. With FULL=1 the whole `make test` runs in it instead, which takes an hour;
# FULL='lint docs' makes only these parts.
#
# Nothing is left behind: the root is a folder that goes with this script, its mounts are in a namespace that ends with its last process.
# Needs root and a Debian; says in one line what is missing where it cannot run. In CI that is an error, unless it is a privilege.
set -euo pipefail
cd "$(dirname "$0")/.."

. tests/needs.sh
part=fresh
# A machine that grants no privilege is not one on which anything could be proven.
unable() {
    echo "fresh: skipped, $1"
    exit 0
}
[ "$(id -u)" = 0 ] || unable "making a root takes root"
unshare --mount --pid --fork true 2>/dev/null || unable "no mount namespace may be made here"
. /etc/os-release
[ "$ID" = debian ] && [ -n "${VERSION_CODENAME:-}" ] || unable "this is no release of Debian"
needs fresh

work=$(mktemp -d "${TMPDIR:-/var/tmp}/firstflight-fresh.XXXXXX")
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
# What runs inside is a job, so that a signal is heard at once; with the first process of a namespace its others end.
job=
trap '[ -z "$job" ] || kill -KILL "$job"; exit 130' INT TERM HUP
begun=$SECONDS

# Debian's own archive as this host knows it, and nothing that was added to it.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] && sed -nE "/^deb .* $VERSION_CODENAME(-updates|-security)? +main( |\$)/p" "$file"
done >"$work/debian.list" || true
for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] && awk -v RS= -v ORS='\n\n' -v name="$VERSION_CODENAME" \
        '$0 ~ "(^|\n)Suites:[^\n]* " name "(-updates|-security)?( |\n|$)" && /(^|\n)Components: *main( |\n|$)/ && !/(^|\n)Enabled: *no/' "$file"
done >"$work/debian.sources" || true
sources=()
for file in "$work"/debian.*; do
    [ ! -s "$file" ] || sources+=("$file")
done
[ ${#sources[@]} -gt 0 ] || skip "apt on this machine has no source for $VERSION_CODENAME main"
# The way to it may lead through a proxy.
apt-config dump | grep -iE '^Acquire::(https?::)?(proxy|https?::(proxy|cainfo))' >"$work/apt.conf" || true

echo "fresh: making a bare Debian $VERSION_CODENAME"
mmdebstrap --quiet --variant=minbase --include=git,make,gcc,libc6-dev,ca-certificates --aptopt="$work/apt.conf" --skip=cleanup/apt/lists \
    "$VERSION_CODENAME" "$root" "${sources[@]}" 2>"$work/log" || { cat "$work/log"; skip "mmdebstrap failed"; }
cp /etc/resolv.conf "$root/etc/"
# Debian's own list of hosts, in which localhost is ::1 first; this host's may name a proxy besides.
{
    printf '%s\t%s\n' 127.0.0.1 localhost ::1 'localhost ip6-localhost ip6-loopback' ff02::1 ip6-allnodes ff02::2 ip6-allrouters
    grep -vE '^[[:space:]]*(#|$|127\.|::1|f[ef])|[[:space:]]localhost([[:space:]]|$)' /etc/hosts || true
} >"$root/etc/hosts"
# Authorities that this host's owner added: without them a proxy that opens connections is not believed.
if [ -d /usr/local/share/ca-certificates ]; then
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
fi
# The checkout as it stands, without what is built.
mkdir -p "$root/src"
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf - -T - 2>/dev/null | tar -xf - -C "$root/src"
echo "fresh: $(chroot "$root" dpkg-query -W | wc -l) packages after $((SECONDS - begun)) s"

# The program that `make test` has built, if it has: its server and its client meet Debian's list of hosts.
program=${CARGO_TARGET_DIR:-target}/debug/firstflight
[ ! -x "$program" ] || cp "$program" "$root/firstflight"

toolchain=$(rustc --print sysroot)
cargo=${CARGO_HOME:-$HOME/.cargo}
cargo fetch --locked --quiet
# Of cargo's folder only what it has fetched: a program in its `bin` would be taken before the toolchain's own.
sources_of_crates=()
for folder in "$cargo/registry" "$cargo/git"; do
    [ ! -d "$folder" ] || sources_of_crates+=("$folder")
done
# Our own code in BPF and build scripts that are linked with libelf: what a missing package breaks. A check runs them and leaves out what is
# Rust. The C in other crates takes the compiler alone, which is there before anything; FULL=1 builds it, too.
cat >"$root/prove" <<'PROVE'
set -euo pipefail
cd /src
if [ -n "${FULL:-}" ]; then
    # Who follows the README has a clone.
    git init -q -b main
    git add -A
    git -c user.name=fresh -c user.email=fresh@localhost commit -qm fresh
    exec make --keep-going ${FULL/#1/test}
fi
tests/needs.sh $(sed -nE 's/^    ([a-z |]+)\) echo .*/\1/p' tests/needs.sh | tr '|' ' ' | sed 's/\bfresh\b//')
echo "fresh: packages installed; building what is made of them"
cargo check --quiet --locked -p firstflight-linux --all-features
python3 -m venv /venv && /venv/bin/pip --version >/dev/null
chromium --version >/dev/null && chromedriver --version >/dev/null
# In a network of its own, so that no port is taken.
[ ! -x /firstflight ] || timeout 120 unshare --net bash -euo pipefail -c '
    grep -qE "^::1[[:space:]]+localhost" /etc/hosts
    ip link set lo up
    /firstflight serve 2>/dev/null & server=$!
    until [ "$(ss -lun | grep -c :4433)" = 2 ]; do sleep 0.1; done
    for host in localhost 127.0.0.1 "[::1]"; do
        /firstflight fetch "https://$host:4433/bytes/100kB" --insecure >/dev/null
    done
    kill -INT $server
    wait $server
    echo "fresh: fetch reaches serve as localhost, over IPv4 and over IPv6"'
PROVE
export FULL=${FULL:-} CI=true CARGO_HOME=$cargo CARGO_TARGET_DIR=/target
export PATH=$toolchain/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
unshare --mount --pid --fork --kill-child --propagation private bash -euo pipefail -c '
    root=$1; shift
    for folder in /dev /sys "$@"; do
        mkdir -p "$root$folder"
        mount --rbind "$folder" "$root$folder"
    done
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/tmp"
    # A shell without job control starts a job that ignores these signals, and tests send them.
    exec chroot "$root" env --default-signal=INT,QUIT bash /prove' fresh "$root" "$toolchain" "${sources_of_crates[@]}" &
job=$!
wait "$job"
job=
echo "fresh: every part of \`make test\` installs what it needs; $((SECONDS - begun)) s"
