#!/usr/bin/env bash
# Gets the machine ready, builds, tunes the workload `quick` on the GPU it finds and prints the table of bests. Where there
# is no GPU: compiles a part of the workload's space for a Jetson AGX Orin (sm_87), then runs the same tune loop over a
# recording made on an H200 and prints that table. What follows the build takes five minutes at most.
#
# Usage: tune.sh [--no-build] [--help]
#   --no-build   run the program that is in the build folder
# Environment: as for setup.sh (TILESMITH_BUILD_DIR, TILESMITH_NO_TOOLKIT), and
#   TILESMITH_DB   the database that records go to (default: ~/.local/share/tilesmith/tuned.db)

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

WHOLE_SECONDS=540       # for set-up, build and what follows together
MOST_TUNE_SECONDS=180
LEAST_TUNE_SECONDS=120  # even if the build was slow: less finds nothing
MOST_COMPILE_SECONDS=150
LEAST_COMPILE_SECONDS=60
COMPILE_CONFIGS=24      # for each family, type pair and transposes: named and seed configs, then an even sample
MOST_REPLAY_SECONDS=90
LEAST_REPLAY_SECONDS=45
RECORDING=$ROOT/db/recorded/h200.jsonl.zst
RECORDED_BESTS=$ROOT/db/recorded/h200.db

build=true
while [ $# -gt 0 ]; do
  case "$1" in
    --no-build) build=false ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done

# seconds_left LEAST MOST [KEPT]: what is left of the whole but for KEPT, within these bounds.
seconds_left() {
  local left=$((WHOLE_SECONDS - ${3:-0} - SECONDS))  # SECONDS: since this script began
  if [ "$left" -gt "$2" ]; then left=$2; fi
  if [ "$left" -lt "$1" ]; then left=$1; fi
  echo "$left"
}

# The libraries too: they take a moment, and `cmake --install` wants them.
if $build; then "$ROOT/scripts/setup.sh" --target tilesmith_installed; fi
require_program tilesmith
tilesmith=$BUILD_DIR/bin/tilesmith

if have_gpu; then
  seconds=$(seconds_left "$LEAST_TUNE_SECONDS" "$MOST_TUNE_SECONDS")
  say "tuning the workload quick for ${seconds} s"
  "$tilesmith" tune --workload quick --budget "${seconds}s"
else
  [ -e "$RECORDING" ] || fail "$RECORDING: no such recording"
  seconds=$(seconds_left "$LEAST_COMPILE_SECONDS" "$MOST_COMPILE_SECONDS" "$MOST_REPLAY_SECONDS")
  say "no GPU here: compiling a part of the workload's space for sm_87, for ${seconds} s at most"
  status=0
  timeout "$seconds" "$tilesmith" compile --arch sm_87 --workload quick --max-configs "$COMPILE_CONFIGS" || status=$?
  # 124: the time is up; what was compiled is kept, and the next run goes on from there.
  [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || exit "$status"
  seconds=$(seconds_left "$LEAST_REPLAY_SECONDS" "$MOST_REPLAY_SECONDS")
  say "replaying $(basename "$RECORDING") for ${seconds} s at most"
  "$tilesmith" tune --workload quick --replay "$RECORDING" --budget "${seconds}s"
  say "a replay keeps nothing; the records that ship: $tilesmith query --db $RECORDED_BESTS"
fi
