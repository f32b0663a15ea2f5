#!/usr/bin/env bash
# Runs every GPU test and writes what came of them to tests/gpu_check.json: a hash of the code they ran, the device, its
# driver, how many passed and failed, and each test's status. Exit status 0 only if all passed.
#
# Usage: gpu_check.sh [--no-build] [--resume] [--out FILE] [--test-limit SECONDS] [--sanitize] [--help]
#   --no-build             run the program that is in the build folder
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
under=()
resume=()
while [ $# -gt 0 ]; do
  case "$1" in
    --no-build) build=false ;;
    --resume) resume=(--resume) ;;
    --out | --test-limit)
      [ $# -ge 2 ] || fail "$1: expected a value after it"
      if [ "$1" = --out ]; then out=$2; else limit=$2; fi
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

# Overridable, so that the tests of this script need no GPU.
gpu=${TILESMITH_GPU_INFO:-$(python3 "$ROOT/scripts/gpu_info.py")} || fail "no GPU of compute capability 8.0 or newer here"
if $build; then "$ROOT/scripts/setup.sh" --target test_gpu --target tilesmith; fi
require_program test_gpu
exec python3 "$ROOT/scripts/run_gpu_tests.py" --program "$BUILD_DIR/bin/test_gpu" --out "$out" --gpu "$gpu" \
  --content-hash "$("$ROOT/scripts/content_hash.sh")" --test-limit "$limit" "${resume[@]}" -- "${under[@]}"
