#!/usr/bin/env bash
# Plan hashes, on which records rest, change with what NVRTC gets and with the launches, wherever that is written; comments, words
# and the choice among configs leave them as they are. Edits copies of files, and builds a program that prints hashes with them.
# shellcheck disable=SC2016  # $ is sed's
set -euo pipefail
root=$1
library=$2/kernels/libtilesmith_kernels.a
[ -f "$library" ] || { echo "skipped: $library is not built"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/main.cpp" <<'CPP'
#include <cstdio>
#include "kernels/families/plan_hash.hpp"
int main() {
  using namespace tilesmith;
  const auto config = Config::parse("simt{block_m=64,block_n=64,block_k=16,thread_m=4,thread_n=4}");
  std::string error;
  for (const char* text : {"f16f32 NN 64 64 64", "f16f32 NN 1 64 65"}) {
    const auto problem = parse_problem(text, error);
    const auto options = compiler_options_text({*problem, *limits_for_arch("sm_90a")});
    std::printf("%s\n", plan_hash(*config, *problem, options).c_str());
  }
}
CPP
compile=("${CXX:-c++}" -std=c++20 -w -c)
"${compile[@]}" -I "$root" "$folder/main.cpp" -o "$folder/main.o"
fmt=$(pkg-config --cflags --libs fmt libxxhash 2>/dev/null || echo "-lfmt -lxxhash")

# A copy of the sources. What was edited is compiled anew, and comes before the library.
mkdir "$folder/tree"
cp -R "$root/kernels" "$folder/tree/"
embed() {
  cmake -DROOT="$folder/tree" -DOUT="$folder/embedded.cpp" -P "$root/cmake/EmbedKernels.cmake"
  "${compile[@]}" -I "$folder/tree" "$folder/embedded.cpp" -o "$1"
}
embed "$folder/unedited.o"

# hashes_after [EXPRESSION FILE]...: the hashes after `sed -i EXPRESSION FILE` for each pair.
hashes_after() {
  local embedded=$folder/unedited.o edited=() objects=() file
  while [ $# -gt 0 ]; do
    cp "$folder/tree/$2" "$folder/before"
    sed -i "$1" "$folder/tree/$2"
    ! cmp -s "$folder/before" "$folder/tree/$2" || { echo "$2: '$1' edits nothing" >&2; exit 1; }
    edited+=("$2")
    shift 2
  done
  for file in $(printf '%s\n' "${edited[@]}" | sort -u); do
    if [[ $file == *.cpp ]]; then
      objects+=("$folder/$(basename "$file").o")
      "${compile[@]}" -I "$folder/tree" "$folder/tree/$file" -o "${objects[-1]}"
    elif [ "$embedded" = "$folder/unedited.o" ]; then
      embedded=$folder/edited.o
      embed "$embedded"
    fi
  done
  for file in "${edited[@]}"; do cp "$root/$file" "$folder/tree/$file"; done
  # The library's files may be compiled in groups: what was edited is then there twice, and the first counts.
  # shellcheck disable=SC2086  # several words
  "${CXX:-c++}" -Wl,--allow-multiple-definition "$folder/main.o" "$embedded" "${objects[@]}" "$library" $fmt -pthread -o "$folder/hashes"
  "$folder/hashes" | paste -sd ' '
}
# changes WHICH [EXPRESSION FILE]...: after the edits both, the second, or none of the two hashes are others.
changes() {
  local expected=$1 now got=none
  shift
  now=$(hashes_after "$@")
  [ "${now#* }" = "${first#* }" ] || got=second
  [ "${now% *}" = "${first% *}" ] || got=both
  [ "$got" = "$expected" ] || { echo "after $*: expected other hashes: $expected; got: $got"; exit 1; }
}

first=$(hashes_after)
[ "${#first}" -eq 65 ] || { echo "expected two hashes, got: $first"; exit 1; }
# What changes nothing is tried at once: it takes a compiler seconds.
changes none '1i // A new comment.\n\n  // Another.' kernels/families/render.cpp \
  's/any type pair, layout/every type pair, layout/' kernels/simt/simt.cpp \
  's/std::vector{8, 16, 32},$/std::vector{8, 16, 32, 64},/' kernels/simt/simt.cpp \
  '1i // A new comment.\n' kernels/shared/finish/scale.cuh \
  '$a int x;' kernels/mma/mma.cu
changes both 's/"kSm", /"kSM", /' kernels/families/render.cpp
changes both '$a int x;' kernels/shared/finish/scale.cuh
changes both 's/launch.block.x = /launch.block.y = /' kernels/simt/simt.cpp
changes second 's/row_stride = (row_stride + whole - 1) \/ whole \* whole/row_stride += 64/' kernels/problem/problem.cpp
