#!/usr/bin/env bash
# After tune.sh's own build `cmake --install` finds all that it puts in place.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/scripts"
cp "$root"/scripts/{tune,lib}.sh "$folder/scripts/"
# shellcheck disable=SC2016  # expanded where it runs
printf '#!/bin/sh\necho "$*" >"%s/asked"\nexit 3\n' "$folder" >"$folder/scripts/setup.sh"
chmod +x "$folder/scripts/setup.sh"

status=0
bash "$folder/scripts/tune.sh" >"$folder/out" 2>&1 || status=$?
[ "$status" -eq 3 ] || { echo "expected the status of setup.sh, 3, got $status:"; cat "$folder/out"; exit 1; }
installed=$(sed -n 's/^ *install(TARGETS \([a-z0-9_ ]*\).*/\1/p' "$root"/{runtime/interface/Install.cmake,runtime/cublas/Install.cmake,scripts/CMakeLists.txt})
[ "$(wc -w <<<"$installed")" -ge 7 ] || { echo "expected the program, two libraries and four shims to be installed, found: $installed"; exit 1; }
for target in $installed; do
  grep -q -- "--target $target\( \|$\)" "$folder/asked" || { echo "$target is installed but not built: $(cat "$folder/asked")"; exit 1; }
done
