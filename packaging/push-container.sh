#!/usr/bin/env bash
# Pushes the images that container.sh saved, one per processor, and a list of them under the version and `latest`.
#
#   push-container.sh DIST NAME    NAME such as ghcr.io/OWNER/firstflight; USER_NAME and TOKEN log in to the registry
set -euo pipefail
folder=$(realpath "$1") name=${2,,}
cd "$(dirname "$0")/.."
. packaging/lib.sh
docker login "${name%%/*}" --username "$USER_NAME" --password-stdin <<<"$TOKEN"
images=()
for file in "$folder/firstflight-$version"-container-*.tar.gz; do
    machine=${file##*-container-} machine=${machine%.tar.gz}
    docker load --quiet --input "$file"
    docker tag "firstflight:$version" "$name:$version-$machine"
    docker push --quiet "$name:$version-$machine"
    images+=("$name:$version-$machine")
done
for tag in "$version" latest; do
    docker buildx imagetools create --tag "$name:$tag" "${images[@]}"
done
