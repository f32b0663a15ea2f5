#!/usr/bin/env bash
# Runs programs that use NVIDIA's cuBLAS under the shims, on a GPU: linked with it, opening it by name, with its archive in them; of 16 threads,
# that fork, that capture. First captures and tunes what they call. Then their results have to be right, and calls taken over; under
# `check` none may differ. At the end the host's time for a call: plain, forwarded, taken over. Long times fail nothing.
#
# Usage: check_shim.sh [--no-build] [--budget SECONDS] [--help]
#   --no-build         run the programs that are in the build folder
#   --budget SECONDS   for tuning the four products that the programs call (default: 40); a quarter more for that whose cost is measured
# Exit status: 0 if all is as expected, 1 if not, 2 for a wrong option or a machine that cannot.
# Environment: TILESMITH_BUILD_DIR, the build folder (default: build/release).

set -uo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=true
budget=40
while [ $# -gt 0 ]; do
  case "$1" in
    --no-build) build=false ;;
    --budget)
      [ $# -ge 2 ] || fail "$1: expected a value after it"
      [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "--budget $2: expected a whole number of seconds"
      budget=$2
      shift
      ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done
have_gpu || fail "no GPU of compute capability 8.0 or newer here"
if $build; then "$ROOT/scripts/setup.sh"; fi
require_program tilesmith
tilesmith=$BUILD_DIR/bin/tilesmith
programs=$BUILD_DIR/cublas_shim
linked=$programs/device_client
[ -x "$linked" ] || fail "$linked: no such program; it is built where the CUDA toolkit has cuBLAS"
major=$(ldd "$linked" | sed -n 's/.*libcublas\.so\.\([0-9]*\) =>.*/\1/p')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TILESMITH_CUBLAS TILESMITH_DB TILESMITH_LOG TILESMITH_CAPTURE
failed=0

# expects NAME PATTERN COMMAND...: it ends well, and a line of what it says has PATTERN (empty: none of the shim's is there).
expects() {
  local name=$1 pattern=$2 status=0
  shift 2
  timeout 120 "$@" >"$work/out" 2>&1 || status=$?
  if [ $status -eq 0 ] && { if [ -n "$pattern" ]; then grep -qE -- "$pattern" "$work/out"; else ! grep -q '^tilesmith: cublas' "$work/out"; fi; }; then
    printf '%-44s as expected\n' "$name"
  else
    printf '%-44s FAILED: exit status %s, expected 0%s\n' "$name" $status "${pattern:+ and a line with $pattern}"
    sed 's/^/   /' "$work/out"
    failed=1
  fi
}

cost="cost 64 64 64"
for what in threads fork graph; do expects "$what, plain" '' "$linked" $what; done
# shellcheck disable=SC2086  # $cost is several words
expects "cost, captured" 'right' "$tilesmith" capture -o "$work/cost.workload" -- "$linked" $cost
expects "graph, captured" 'right' "$tilesmith" capture -o "$work/graph.workload" -- "$linked" graph
expects "tuned" '' "$tilesmith" tune --workload "$work/graph.workload" --db "$work/graph.db" --budget "${budget}s"
cp "$work/graph.db" "$work/tuned.db"
expects "cost, tuned" '' "$tilesmith" tune --workload "$work/cost.workload" --db "$work/tuned.db" --budget "$((budget / 4 + 5))s"

taken='[1-9][0-9]*  taken over'
for what in threads fork graph; do
  expects "$what, linked" "$taken" "$tilesmith" run --db "$work/tuned.db" -- "$linked" $what
  expects "$what, by name" "$taken" "$tilesmith" run --by-name "$major" --db "$work/tuned.db" -- "${linked}_by_name" $what
  [ ! -x "${linked}_static" ] || expects "$what, archive" '' "$tilesmith" run --db "$work/tuned.db" -- "${linked}_static" $what
done
for what in threads fork; do
  expects "$what, checked" '[1-9][0-9]*  checked, of which 0 differ' "$tilesmith" run --check --db "$work/tuned.db" -- "$linked" $what
done

# Of several runs the least of each, since other work disturbs some; by cuBLAS's own function in the same process and in turn.
# cost_of NAME COMMAND...
cost_of() {
  local name=$1 ours=1000000 direct=1000000 one other
  shift
  for _ in 1 2 3 4 5; do
    # shellcheck disable=SC2086
    read -r one other < <("$@" "$linked" $cost 2>"$work/err" | sed -n 's/^cost \([0-9]*\) direct \([0-9]*\)$/\1 \2/p') || continue
    [ "$one" -ge "$ours" ] || ours=$one
    [ "$other" -ge "$direct" ] || direct=$other
  done
  [ "$ours" -lt 1000000 ] || { echo "$name: no run told its time"; failed=1; return; }
  printf '%-44s %s ns a call, cuBLAS itself %s: %+d\n' "$name" "$ours" "$direct" $((ours - direct))
}
echo "The host's time for a cublasGemmEx of f16, 64 x 64 x 64:"
cost_of "plain" env
cost_of "forwarded" "$tilesmith" run --db "$work/graph.db" --
cost_of "taken over" "$tilesmith" run --db "$work/tuned.db" --
grep -qE -- "$taken" "$work/err" || echo "note: cuBLAS was timed as fast at 64 x 64 x 64, so those calls were forwarded too"
exit $failed
