#!/usr/bin/env bash
# kernels <- db <- runtime <- tuner: a folder includes its own files and those to its left; kernels' host code includes
# no CUDA header, and device code nothing but kernels/ and CUDA's own headers.
set -euo pipefail
cd "$1"
status=0

# check FOLDER FORBIDDEN-PATTERN WHY
check() {
  local found
  found=$(grep -rnE --include='*.[ch]pp' --include='*.h' "^ *#include *$2" "$1" || true)
  if [ -n "$found" ]; then
    printf '%s\n  %s may not include that: %s\n' "$found" "$1" "$3"
    status=1
  fi
}
check kernels '"(db|runtime|tuner|tests)/' 'it is the vocabulary of all'
check db '"(runtime|tuner|tests)/' 'it includes kernels only'
check runtime '"(tuner|tests)/' 'applications link it without the tuner'
check tuner '"tests/' 'tests come last'
check kernels '[<"](cuda|nvrtc|mma|nvml|cublas)' 'host code of kernels needs no CUDA header'
check db '[<"](cuda|nvrtc|mma|nvml|cublas)' 'it works where there is no CUDA'

device=$(grep -rnE --include='*.cu' --include='*.cuh' '^ *#include *"' kernels | grep -v '#include "kernels/' || true)
if [ -n "$device" ]; then
  printf '%s\n  device code includes "kernels/..." and <cuda headers> only\n' "$device"
  status=1
fi
exit $status
