#!/usr/bin/env bash
# The shims with NVIDIA's own cuBLAS, where its files are: by TILESMITH_CUBLAS12_LIB and TILESMITH_CUBLAS13_LIB (folders), among NVIDIA's wheels, or
# with the toolkit. Needs no GPU. Exit status 77: none is here.
#
# Usage: run_real.sh FOLDER_OF_PROGRAMS FOLDER_OF_SHIMS [FOLDER_OF_WHEELS]
set -uo pipefail
room=$1
shims=$2
wheels=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/tuned.db"
export TILESMITH_LIBRARY=$room/driver/stand_in_tilesmith.so TILESMITH_DB=$work/tuned.db TILESMITH_CUBLAS=run
tried=0
failed=0
for major in 12 13; do
  given=TILESMITH_CUBLAS${major}_LIB
  found=
  for folder in "${!given:-}" "$wheels/nvidia/cublas/lib" "$wheels/nvidia/cu13/lib" /usr/local/cuda/lib64; do
    [ -z "$found" ] && [ -n "$folder" ] && [ -f "$folder/libcublas.so.$major" ] && [ -f "$folder/libcublasLt.so.$major" ] && found=$folder
  done
  [ -n "$found" ] || continue
  tried=1
  whole=$shims/tilesmith-cublas$major/libcublas.so.$major
  for library in cublas cublasLt; do
    file=lib$library.so.$major
    missing=$(comm -23 <(nm -D --defined-only "$found/$file" | awk '$2 == "T" { print $3 }' | sed 's/@@.*//' | sort) \
      <(nm -D --defined-only "$shims/tilesmith-${library,,}$major/$file" | grep "@@$file\$" | awk '{ print $3 }' | sed 's/@@.*//' | sort))
    [ -z "$missing" ] || { echo "the shim does not have $(echo "$missing" | wc -l) functions of $found/$file: ${missing//$'\n'/ }"; failed=1; }
  done
  for shim in "$shims/libtilesmith-cublas$major.so" "$whole" "$whole:$shims/tilesmith-cublaslt$major/libcublasLt.so.$major"; do
    out=$(LD_LIBRARY_PATH=$room/driver:$found LD_PRELOAD=$shim timeout 60 "$room/cublas_client_real$major" $major 2>&1) && grep -q 'as expected' <<<"$out" &&
      grep -q '1  forwarded: arguments that cuBLAS has to judge' <<<"$out" && continue
    echo "== $shim with $found:"
    echo "$out"
    failed=1
  done
done
[ $tried = 1 ] || { echo "skipped: no cuBLAS is here"; exit 77; }
exit $failed
