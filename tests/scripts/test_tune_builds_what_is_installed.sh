#!/usr/bin/env bash
# What tune.sh has built is all that `cmake --install` puts in place.
set -euo pipefail
root=$1
build=$2
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
[ -f "$build/build.ninja" ] || { echo "skipped: $build is not Ninja's"; exit 77; }
mapfile -t targets < <(grep -o -- '--target [a-z0-9_]*' "$folder/asked" | cut -d' ' -f2)
ninja -C "$build" -t commands "${targets[@]}" >"$folder/commands"

# Of the installation's own scripts: the files that lie in the build folder, but for those that configuring wrote.
mapfile -t files < <(find "$build" -name cmake_install.cmake -not -path "*/Testing/*" -exec grep -ho "\"$build/[^\"\$]*\"" {} + | tr -d '"' | sort -u)
checked=0
for file in "${files[@]}"; do
  case $file in *.cmake | *.pc | *CMakeFiles/Export/* | */tests/*) continue ;; esac
  name=${file#"$build"/}
  # A manual page is written by the command that names their folder.
  grep -qF -e "$name" -e "-DFOLDER=$(dirname "$file") " -e "-DFOLDER=$file " "$folder/commands" ||
    { echo "$name is installed, and not built by ${targets[*]}"; exit 1; }
  checked=$((checked + 1))
done
[ "$checked" -ge 12 ] || { echo "expected the program, two libraries, six shims, manual pages and completions, checked $checked of: ${files[*]}"; exit 1; }
