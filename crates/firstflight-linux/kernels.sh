#!/usr/bin/env bash
# Loads every controller, and the programs of `watch` and `trial start`, into other kernels, in an emulator: the verifier accepts them,
# connections over loopback run on them, are watched and given arms, and all is gone afterwards. Takes a minute or two for each kernel. Fetches Debian's kernel packages into a temporary folder.
#
#   crates/firstflight-linux/kernels.sh                  of Debian 12 (6.1), Debian 13 (6.12) and its backports (7.x)
#   crates/firstflight-linux/kernels.sh FILE.deb...      these packages (with a vmlinuz)
#
# Needs qemu-system-x86, busybox-static, cpio, curl, xz-utils and what the feature `bpf` needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in qemu-system-x86_64 busybox cpio dpkg-deb curl xz clang; do
    command -v "$tool" >/dev/null || { echo "kernels: skipped, no $tool"; exit 0; }
done
busybox=$(command -v busybox)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tests=$(cargo test --locked -p firstflight-linux --features bpf --test it --no-run --message-format=json |
    sed -nE 's/.*"name":"it".*"executable":"([^"]+)".*/\1/p' | tail -1)
# The newest kernel of a Debian suite. Since 7.x the image is in a package `linux-binary`.
newest() {
    local files file
    files=$(curl -fsS "$mirror/dists/$1/main/binary-amd64/Packages.xz" | xz -dc | sed -n 's/^Filename: //p')
    file=$(grep -E '/linux-binary-[0-9][^/]*[0-9]-cloud-amd64_' <<<"$files" | sort -V | tail -1)
    [ -n "$file" ] || file=$(grep -E '/linux-image-[0-9][^/]*[0-9]-cloud-amd64_' <<<"$files" | sort -V | tail -1)
    curl -fsS --output-dir "$work" -O "$mirror/$file" && echo "$work/${file##*/}"
}
mirror=${MIRROR:-https://deb.debian.org/debian}
packages=("$@")
if [ ${#packages[@]} -eq 0 ]; then
    for suite in bookworm trixie trixie-backports; do
        package=$(newest "$suite") && packages+=("$package") || echo "kernels: nothing from $suite"
    done
fi

# What the guest runs: busybox as shell, the test with its libraries.
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,run}
cp "$busybox" "$root/bin/busybox"
cp "$tests" "$root/bin/tests"
for library in $(ldd "$tests" | grep -oE '/[^ ]+'); do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sysfs /sys; $b mount -t devtmpfs dev /dev
$b mount -t cgroup2 cgroup /sys/fs/cgroup
$b ifconfig lo 127.0.0.1 up
echo "guest: $($b uname -r)"
/bin/tests --nocapture every_arm_carries a_control_group what_a_killed loopback::; echo "guest: code $?"
$b poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initramfs"

code=0
for package in "${packages[@]}"; do
    rm -rf "$work/kernel"
    dpkg-deb -x "$package" "$work/kernel"
    echo "kernels: $(basename "$package")"
    timeout 900 qemu-system-x86_64 -machine accel=tcg -m 1024 -smp 2 -nodefaults -no-user-config -nographic -serial stdio -no-reboot \
        -kernel "$(find "$work/kernel" -name 'vmlinuz*' -type f | head -1)" -initrd "$work/initramfs" -append 'console=ttyS0 rdinit=/init panic=-1 no_timer_check quiet' >"$work/log" 2>&1 || true
    grep -aE 'guest:|works|^test |panicked|skipped|refuses|left|right' "$work/log" | tr -d '\r' | sed -E 's/.*(guest:)/\1/; s/^/  /' || true
    grep -aq 'guest: code 0' "$work/log" && ! grep -aq skipped "$work/log" || { echo "kernels: FAILED"; tail -n 30 "$work/log"; code=1; }
done
exit $code
