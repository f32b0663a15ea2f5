#!/usr/bin/env bash
# scripts/house.sh on a made-up tree: what it counts, and that it fails above a limit. This tree's own counts are its business.
set -euo pipefail
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/kernels/simt" "$work/db/store" "$work/docs/notes"
notes=$work/docs/notes
printf 'three words here\n' >"$notes/a.md"
printf '// weights\nint a;\n' >"$work/db/a.hpp"
printf 'not counted\n' >"$work/db/store/schema.sql"
{
  printf '#pragma once\n#ifdef TILESMITH_A  // ours: three\n#else\n#endif\n#ifndef __CUDACC__\n#else\n#endif\n'
  printf 'namespace a {\nstruct S {\n__device__ void is_short() {\n  call("{");  // {\n}\n#ifdef TILESMITH_B\n__device__ void either(int a) {\n#else\n__device__ void either() {\n#endif\n'
  printf '  ;\n%.0s' {1..78}
  printf '}\n};\n}  // namespace a\n'
} >"$work/kernels/simt/simt.cu"
expect() { grep -qE "^ +$1  $2" "$work/out" || { echo "expected '$1  $2' in:"; cat "$work/out"; exit 1; }; }
status=0
bash "$root/scripts/house.sh" "$work" >"$work/out" || status=$?
[ "$status" -eq 1 ] || { echo "exit status $status, expected 1, for a function of 83 lines"; exit 1; }
expect 98 'lines in kernels'
expect 100 'lines of C\+\+ and CUDA .* at most 66000$'
expect 6 'directives on our own macros'
expect 1 'functions of device code above 80 lines .*: EXCEEDED'
expect 1 'files that name weights'
expect 0 'files that name sparsity'
expect 3 'words in docs/notes'
grep -q 'kernels/simt/simt.cu:14: 83 lines' "$work/out" || { echo "the long function is not named:"; cat "$work/out"; exit 1; }
sed -i '20,30d' "$work/kernels/simt/simt.cu"
bash "$root/scripts/house.sh" "$work" >"$work/out" || { echo "failed although nothing exceeds a limit:"; cat "$work/out"; exit 1; }
