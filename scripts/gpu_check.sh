#!/usr/bin/env bash
# Runs every GPU test and writes what came of them to tests/gpu_check.json: a hash of the code they ran, the device, its
# driver, how many passed and failed, and each test's status. Exit status 0 only if all passed.
#
# Usage: gpu_check.sh [--no-build] [--gpus LIST] [--programs N] [--resume] [--out FILE] [--test-limit SECONDS] [--sanitize] [--help]
#   --no-build             run the program that is in the build folder
#   --gpus LIST            share the tests out among these GPUs of one model, by what each took by that file: 0,1, as
#                          CUDA_VISIBLE_DEVICES names them (default: the first GPU)
#   --programs N           share them out among N programs on each GPU (default: 1). Most of the time is spent in compilers, and
#                          five keep 16 cores busy
#   --resume               keep what passed by that file, if it is of the same code, device and driver, and run the rest;
#                          what is kept has its date beside it. That a test itself was changed since is not noticed.
#                          A check that was ended has left that in FILE.part, and says there how many tests are "left"
#   --out FILE             write there instead of tests/gpu_check.json
#   --test-limit SECONDS   a test that takes longer is ended and counts as failed (default: 300)
#   --sanitize             run under compute-sanitizer's memcheck (from the CUDA Toolkit)
# Environment: TILESMITH_BUILD_DIR, the build folder (default: build/release).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=true
out=$ROOT/tests/gpu_check.json
limit=300
gpus=
programs=1
under=()
resume=()
while [ $# -gt 0 ]; do
  case "$1" in
    --no-build) build=false ;;
    --resume) resume=(--resume) ;;
    --out | --test-limit | --gpus | --programs)
      [ $# -ge 2 ] || fail "$1: expected a value after it"
      case "$1" in --out) out=$2 ;; --gpus) gpus=$2 ;; --programs) programs=$2 ;; *) limit=$2 ;; esac
      shift
      ;;
    --sanitize)
      sanitizer=$(find_sanitizer)
      under=("$sanitizer" --tool memcheck --error-exitcode 86)
      ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done
[[ $limit =~ ^[1-9][0-9]*$ ]] || fail "--test-limit $limit: expected a whole number of seconds"
[[ $programs =~ ^[1-9][0-9]?$ ]] || fail "--programs $programs: expected a whole number from 1 to 99"
[[ $gpus =~ ^([A-Za-z0-9/-]+(,[A-Za-z0-9/-]+)*)?$ ]] || fail "--gpus $gpus: expected a list as 0,1"
[ -z "$(tr , '\n' <<<"$gpus" | sort | uniq -d)" ] || fail "--gpus $gpus: expected each GPU once"

# info_of GPU: of the one that CUDA_VISIBLE_DEVICES names so (empty: the first). Overridable, so that the tests of this script
# need no GPU.
info_of() {
  [ -z "$1" ] || export CUDA_VISIBLE_DEVICES=$1
  if [ -n "${TILESMITH_GPU_INFO:-}" ]; then echo "$TILESMITH_GPU_INFO"; else python3 "$ROOT/scripts/gpu_info.py"; fi
}
gpu=$(info_of "${gpus%%,*}") || fail "no GPU of compute capability 8.0 or newer here"
for other in ${gpus//,/ }; do
  [ "$(info_of "$other" || true)" = "$gpu" ] || fail "--gpus $gpus: expected GPUs of one model; ${gpus%%,*} is $gpu, $other another"
done
if $build; then "$ROOT/scripts/setup.sh" --target test_gpu --target tilesmith; fi
require_program test_gpu
exec python3 "$ROOT/scripts/run_gpu_tests.py" --program "$BUILD_DIR/bin/test_gpu" --out "$out" --gpu "$gpu" \
  --content-hash "$("$ROOT/scripts/content_hash.sh")" --test-limit "$limit" --gpus "$gpus" --programs "$programs" "${resume[@]}" -- "${under[@]}"
