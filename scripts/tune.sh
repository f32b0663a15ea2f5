#!/usr/bin/env bash
# Gets the machine ready, builds, tunes the workload `quick` on the GPU it finds and prints the table of bests; done
# within ten minutes. Where there is no GPU: compiles a part of the workload's space for a Jetson AGX Orin (sm_87), then
# runs the same tune loop over a recording made on an H200 and prints that table.
#
# Usage: tune.sh [--no-build] [--help]
#   --no-build   run the program that is in the build folder
# Environment: as for setup.sh (TILESMITH_BUILD_DIR, TILESMITH_NO_TOOLKIT), and
#   TILESMITH_DB   the database that evidence goes to (default: ~/.local/share/tilesmith/tuned.db)

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

WHOLE_SECONDS=540       # for set-up, build and tuning together
MOST_TUNE_SECONDS=180
LEAST_TUNE_SECONDS=120  # even if the build was slow: less finds nothing
COMPILE_SECONDS=180     # two cores need about 80 for the part below
COMPILE_CONFIGS=24      # for each family, type pair and transposes: named and seed configs, then an even sample

build=true
while [ $# -gt 0 ]; do
  case "$1" in
    --no-build) build=false ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done

# The libraries too: they take a moment, and `cmake --install` wants them.
if $build; then "$ROOT/scripts/setup.sh" --target tilesmith --target tilesmith_shared --target tilesmith_static; fi
require_program tilesmith
tilesmith=$BUILD_DIR/bin/tilesmith

if have_gpu; then
  seconds=$((WHOLE_SECONDS - SECONDS))  # SECONDS: since this script began
  if [ "$seconds" -gt "$MOST_TUNE_SECONDS" ]; then seconds=$MOST_TUNE_SECONDS; fi
  if [ "$seconds" -lt "$LEAST_TUNE_SECONDS" ]; then seconds=$LEAST_TUNE_SECONDS; fi
  say "tuning the workload quick for ${seconds} s"
  "$tilesmith" tune --workload quick --budget "${seconds}s"
else
  say "no GPU here: compiling a part of the workload's space for sm_87"
  status=0
  timeout "$COMPILE_SECONDS" "$tilesmith" compile --arch sm_87 --workload quick --max-configs "$COMPILE_CONFIGS" || status=$?
  # 124: the time is up; what was compiled is kept, and the next run goes on from there.
  [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || exit "$status"
  recordings=("$ROOT"/db/recorded/*.jsonl.zst)
  [ -e "${recordings[0]}" ] || fail "db/recorded: no recording (*.jsonl.zst) there"
  for recording in "${recordings[@]}"; do
    say "replaying $(basename "$recording")"
    "$tilesmith" tune --workload quick --replay "$recording"
  done
fi
