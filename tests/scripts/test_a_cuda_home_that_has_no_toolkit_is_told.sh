#!/usr/bin/env bash
# $CUDA_HOME and $CUDA_PATH name a toolkit: where there is none, the build says so in one line on stderr, and so does the program. What
# scripts read of stdout stays one folder.
set -euo pipefail
root=$1
tilesmith=$2/bin/tilesmith
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset CUDA_HOME CUDA_PATH TILESMITH_CUDA_INCLUDE TILESMITH_NO_TOOLKIT TILESMITH_NVRTC
complain() { echo "$1; got:"; cat "$folder/out" "$folder/err"; exit 1; }
folders() { "$@" cmake -P "$root/cmake/CudaFolders.cmake" >"$folder/out" 2>"$folder/err"; }

folders env
[ ! -s "$folder/err" ] || complain "expected no word where nothing is named"
cp "$folder/out" "$folder/usual"
for variable in CUDA_HOME CUDA_PATH; do
  for place in /nonexist "$folder"; do  # no folder; a folder without headers
    folders env "$variable=$place"
    cmp -s "$folder/out" "$folder/usual" || complain "expected the usual folder on stdout, as without $variable"
    [ "$(wc -l <"$folder/err")" -eq 1 ] || complain "expected one line for $variable=$place"
    grep -q "^$variable is '$place': passed over, expected include/cuda.h" "$folder/err" || complain "expected $variable=$place to be named"
  done
done
folders env CUDA_HOME=/nonexist TILESMITH_NO_TOOLKIT=1
[ ! -s "$folder/err" ] || complain "expected no word where no toolkit is wanted"

[ -x "$tilesmith" ] || exit 77
HOME=$folder CUDA_HOME=/nonexist "$tilesmith" devices >"$folder/out" 2>"$folder/err" || true
[ "$(grep -c "CUDA_HOME is '/nonexist': there is no such folder" "$folder/err")" -eq 1 ] || complain "expected the program to name it once"
