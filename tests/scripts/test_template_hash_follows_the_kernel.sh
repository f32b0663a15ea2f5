#!/usr/bin/env bash
# The template hashes, by which evidence is retired, change with what decides a kernel or its launches, in the families that
# it belongs to; comments, and the choice among configs, leave them as they are.
# shellcheck disable=SC2016  # $ is sed's
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The lines {"family", "hash"} of a fresh copy in which `sed -i EXPRESSION FILE` was run (EXPRESSION empty: none).
hashes_after() {
  rm -rf "$folder/tree"
  mkdir "$folder/tree"
  cp -R "$root/kernels" "$folder/tree/"
  if [ -n "$1" ]; then
    cp "$folder/tree/$2" "$folder/before"
    sed -i "$1" "$folder/tree/$2"
    ! cmp -s "$folder/before" "$folder/tree/$2" || { echo "$2: '$1' edits nothing" >&2; exit 1; }
  fi
  cmake -DROOT="$folder/tree" -DOUT="$folder/embedded.cpp" -P "$root/cmake/EmbedKernels.cmake"
  grep -oE '^    \{"[a-z_]+", "[0-9a-f]{64}"\},$' "$folder/embedded.cpp"
}
# retires FAMILIES EXPRESSION FILE: the edit gives these families (sorted, or "none") another hash, and no others.
retires() {
  local now retired
  now=$(hashes_after "$2" "$3")
  retired=$({ diff <(echo "$first") <(echo "$now") || true; } | sed -nE 's/^> +\{"([a-z_]+)".*/\1/p' | sort | paste -sd ' ')
  [ "${retired:-none}" = "$1" ] || { echo "$3, after '$2': expected another hash of: $1; got: ${retired:-none}"; exit 1; }
}

first=$(hashes_after "" "")
[ "$(grep -c . <<<"$first")" -ge 5 ] || { echo "expected a hash of each family, got: $first"; exit 1; }

retires none '1i // A new comment.\n\n  // Another.' kernels/mma/mma.cu
retires none '/^ *\/\//d' kernels/tensor_core/ring.cuh
retires none '/^ *\/\//d' kernels/wmma/geometry.cpp
for file in kernels/{mma,wgmma,wmma,gemv,tensor_core}/rules.cpp kernels/{mma,wgmma,wmma,gemv}/seeds.cpp \
  kernels/{mma,wgmma}/estimate.cpp kernels/mma/seeds.hpp; do
  retires none '$a int another_choice = 1;' "$file"
done

retires mma '$a int x;' kernels/mma/mma.cu
retires mma '$a #define X 1  // at the end of a line' kernels/mma/tile.cuh
retires 'mma wgmma' '$a int x;' kernels/tensor_core/ring.cuh
retires 'gemv mma simt wgmma wmma' '$a int x;' kernels/common/scale.cuh
retires 'mma wgmma' '$a int x;' kernels/tensor_core/reduce.cuh  # which only an included file includes
retires mma '$a int x;' kernels/tensor_core/tf32.cuh  # wgmma, which includes others of that folder, does not
retires wgmma 's/geometry.threads\|g.threads/(&)/' kernels/wgmma/wgmma.cpp
retires mma 's/geometry.threads/(&)/' kernels/mma/mma.cpp
retires wgmma '$a int x;' kernels/wgmma/instruction.cpp
retires wmma '$a int x;' kernels/wmma/geometry.cpp
retires gemv '$a int x;' kernels/gemv/geometry.hpp
retires 'mma wgmma' '$a int x;' kernels/tensor_core/passes.cpp
