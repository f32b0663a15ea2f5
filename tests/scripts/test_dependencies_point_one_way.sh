#!/usr/bin/env bash
# kernels <- db <- runtime <- tuner: a folder includes its own files and those to its left; kernels' host code includes
# no CUDA header, and device code nothing but kernels/ and CUDA's own headers. Within the runtime: driver <- compile <-
# plan <- choose <- interface. Within the tuner: search, verify, measure, logs <- warm_start, schedule, recordings, workers, bests <- loop, supervisor <- cli,
# which also shows reports.
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
found=$(grep -rnE --include='*.[ch]pp' '^ *#include *<spdlog/' kernels db runtime | grep -v '^db/store/logger\.' || true)
if [ -n "$found" ]; then
  printf '%s\n  applications link it: it logs through db/store/logger.hpp\n' "$found"
  status=1
fi

# within FOLDER OTHERS: of the tuner's folders and headers it includes these (parts of a pattern), and its own files.
within() {
  local found
  [ -d "tuner/$1" ] || { echo "tuner/$1: no such folder"; exit 1; }
  found=$(grep -rnE '^ *#include *"tuner/' "tuner/$1" | grep -vE "\"tuner/($1/|$2)" || true)
  if [ -n "$found" ]; then
    printf '%s\n  tuner/%s may include of the tuner, beside its own: %s\n' "$found" "$1" "$2"
    status=1
  fi
}
within search 'nothing'
within verify 'nothing'
within measure 'nothing'
within warm_start 'search/|measure/|evaluator.hpp|peaks.hpp'
within recordings 'search/|evaluator.hpp'
within schedule 'workload.hpp'
within logs 'nothing'
within workers 'verify/|measure/|evaluator.hpp|vendor.hpp'
within loop 'search/|verify/|measure/|warm_start/|schedule/|recordings/|[a-z_]+\.hpp'
within bests '[a-z_]+\.hpp'
within supervisor 'schedule/|workers/|[a-z_]+\.hpp'
within report 'measure/|schedule/|bests/|[a-z_]+\.hpp'
shared=$(grep -nE '^ *#include *"tuner/[a-z_]+/' tuner/*.[ch]pp | grep -v '^tuner/main.cpp:' || true)
if [ -n "$shared" ]; then
  printf '%s\n  what all rooms use includes none of them\n' "$shared"
  status=1
fi

before=''
for room in driver compile plan choose interface; do
  found=$(grep -rnE '^ *#include *"runtime/' "runtime/$room" | grep -vE "\"runtime/($room$before)/" || true)
  if [ -n "$found" ]; then
    printf '%s\n  runtime/%s may include of the runtime, beside its own: %s\n' "$found" "$room" "${before#|}"
    status=1
  fi
  before="$before|$room"
done

found=$(grep -rnE '^ *#include *"' runtime/cublas | grep -vE '"runtime/(cublas/|interface/tilesmith\.h")' || true)
if [ -n "$found" ]; then
  printf '%s\n  runtime/cublas may include its own files and runtime/interface/tilesmith.h: the shim opens the library when it runs\n' "$found"
  status=1
fi
check runtime/cublas '<(cuda|cublas|nv|library_types)' 'it is built where there is no CUDA'

check kernels '[<"](cuda|nvrtc|mma|nvml|cublas)' 'host code of kernels needs no CUDA header'
check db '[<"](cuda|nvrtc|mma|nvml|cublas)' 'it works where there is no CUDA'

device=$(grep -rnE --include='*.cu' --include='*.cuh' '^ *#include *"' kernels | grep -v '#include "kernels/' || true)
if [ -n "$device" ]; then
  printf '%s\n  device code includes "kernels/..." and <cuda headers> only\n' "$device"
  status=1
fi
exit $status
