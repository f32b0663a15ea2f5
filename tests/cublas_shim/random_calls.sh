#!/usr/bin/env bash
# Captures random calls of cuBLAS. `tune` has to take every line of the workload, and every call is either counted there or left out by a reason.
# TILESMITH_LONG_TESTS=1: 10,000 calls of five seeds, not 2,000 of one.
#
# Usage: random_calls.sh FOLDER_OF_PROGRAMS FOLDER_OF_SHIMS TILESMITH
set -euo pipefail
room=$1 shims=$2 tilesmith=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
calls=2000 seeds=1
if [ "${TILESMITH_LONG_TESTS:-0}" = 1 ]; then calls=10000 seeds='1 2 3 4 5'; fi
fail() {
  echo "seed $seed: $*" >&2
  exit 1
}

for seed in $seeds; do
  file=$work/$seed.workload
  LD_LIBRARY_PATH=$room/driver LD_PRELOAD=$shims/libtilesmith-cublas12.so TILESMITH_CUBLAS=capture TILESMITH_CAPTURE=$file \
    "$room/cublas_client_random" "$calls" "$seed" >/dev/null 2>"$work/said" || fail "the program failed: $(tail -3 "$work/said")"
  in_file=$(awk '/^# left out, / { sum += $4; next } /^#|^weights/ { next } !/# not seen/ { sum += $NF } END { print sum + 0 }' "$file")
  forwarded=$(awk '/forwarded: / && !/noted for the workload/ { sum += $2 } END { print sum + 0 }' "$work/said")
  [ $((in_file + forwarded)) = "$calls" ] || fail "$in_file calls in the workload and $forwarded left out by the shim; expected $calls in all: $(cat "$work/said")"
  lines=$(grep -cv '^#\|^weights' "$file")
  [ "$lines" -gt $((calls / 4)) ] || fail "only $lines lines: expected that most calls become one"
  grep -q '^# left out, .*stride_c' "$file" || fail "no call was left out for stride_c: expected some, since strides are random"
  [ "$(grep -v '^#\|^weights\|# not seen' "$file" | sed 's/ [0-9]*$//' | sort | uniq -d | wc -l)" = 0 ] || fail "a problem has two lines"
  "$tilesmith" tune --workload "$file" --dry-run --arch sm_90a --family simt --db "$work/none.db" >"$work/out" 2>&1 || fail "tune refuses the workload: $(tail -1 "$work/out")"
done
echo "every call has its line or its reason"
