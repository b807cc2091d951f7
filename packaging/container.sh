#!/usr/bin/env bash
# The container image out of what static.sh made: nothing is compiled. Needs docker or podman.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/lib.sh
part=container
name=firstflight-$version-$(uname -m)-unknown-linux-musl
engine=
for program in docker podman; do
    if "$program" info >/dev/null 2>&1; then engine=$program && break; fi
done
[ -e "$dist/$name.tar.gz" ] || { echo "container: skipped, static.sh made nothing" && exit; }
if [ -z "$engine" ]; then echo "container: skipped, no docker or podman answers" && exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$dist/$name.tar.gz" --strip-components=1 -C "$work"
cp -r packaging/Containerfile samples "$work/"
"$engine" build --quiet --tag "firstflight:$version" --file "$work/Containerfile" "$work" >/dev/null
# With as little as it can have: no network, nothing to write to, no privilege.
least=(--network none --read-only --cap-drop all --ulimit nofile=256:256 --ulimit nproc=256:256)
image=firstflight:$version
# Some machines build images and start none: what the runtime says of itself is no failure of ours.
if said=$("$engine" run --rm "${least[@]}" "$image" --version 2>&1); then
    for question in compare "advise /samples/satellite.pcap.gz --flows 300 --report /dev/null"; do
        # shellcheck disable=SC2086 # words of a command
        "$engine" run --rm "${least[@]}" "$image" $question >/dev/null
    done
elif [[ $said == *"OCI runtime error"* ]]; then
    echo "container: not tried, $engine starts none here: ${said#*OCI runtime error: }"
else
    echo "container: failed: $said" && exit 1
fi
"$engine" save "$image" | gzip -n9 >"$dist/firstflight-$version-container-$(uname -m).tar.gz"
made "$dist/firstflight-$version-container-$(uname -m).tar.gz"
