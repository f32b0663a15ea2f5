#!/usr/bin/env bash
# Gets the machine ready, builds, and runs every test that the machine can run. Where there is no GPU, the GPU tests
# are listed as skipped, by name.
#
# Usage: test.sh [--no-build] [--help] [-- CTEST-ARGUMENT...]
#   --no-build   test what is in the build folder
# Environment: as for setup.sh (TILESMITH_BUILD_DIR, TILESMITH_CMAKE_ARGS, TILESMITH_NO_TOOLKIT).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=true
while [ $# -gt 0 ]; do
  case "$1" in
    --no-build) build=false ;;
    -h | --help) print_help; exit 0 ;;
    --) shift; break ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done

if $build; then "$ROOT/scripts/setup.sh"; fi
[ -f "$BUILD_DIR/CTestTestfile.cmake" ] || fail "$BUILD_DIR: no tests there; build first (scripts/setup.sh)"

# One test may compile kernels for a while on a slow machine. Some sleep: one more runs than there are cores.
jobs=$(($(nproc) + 1))
ctest=(ctest --test-dir "$BUILD_DIR" --output-on-failure --timeout 600)
if have_gpu; then
  # Two tests at once would disturb each other's times and may run out of device memory.
  say "GPU tests"
  status=0
  "${ctest[@]}" -L gpu "$@" || status=$?
  say "all other tests"
  "${ctest[@]}" -LE gpu -j "$jobs" "$@"
  [ "$status" -eq 0 ] || warn "GPU tests failed (above)"
  exit "$status"
else
  say "tests (no GPU here: those with the label gpu are skipped)"
  "${ctest[@]}" -j "$jobs" "$@"
fi
