#!/usr/bin/env bash
# Runs samples of the kernel families under NVIDIA's compute-sanitizer: memcheck, racecheck and synccheck, a sample for each family
# and type pair, whose transposes take turns. Each sampled config goes through the whole verification battery (`tilesmith verify`).
# The battery's own kernels are not instrumented, or a handful of configs would take minutes. They are excluded by name: were ours chosen by
# name, a name that matched nothing would look like kernels without errors.
#
# Usage: sanitize_kernels.sh [--no-build] [--tool NAME]... [--family NAME]... [--max-configs N] [--jobs N] [--limit SECONDS]
#                            [--out FOLDER] [--help]
#   --no-build        run the program that is in the build folder
#   --tool NAME       memcheck, racecheck or synccheck; repeatable (default: all three)
#   --family NAME     mma, wgmma, wmma, gemv or simt; repeatable (default: mma and wgmma)
#   --max-configs N   configs of each family, type pair and tool (default: 24, by which every parameter has every value that is
#                     legal for the pair)
#   --jobs N          samples at a time, each a process of its own on the one GPU (default: 8)
#   --limit SECONDS   a sample that takes longer is killed and counts as failed (default: 600)
#   --out FOLDER      keep what each sample printed there; what an earlier run left there goes (default: a folder that is
#                     removed, unless something failed)
# Exit status: 0 if all samples are clean, 1 if one is not, 2 for a wrong option or a machine that cannot.
# Environment: TILESMITH_BUILD_DIR, the build folder (default: build/release).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Of tuner/verify/reference_source.cpp, by parts of their names.
BATTERY=(multiply_ compare_ fill_ check copy_words reset_reports)
TYPES=(f16f32 bf16f32 f16f16 f16f32f16 bf16f32bf16 tf32f32 s8s32 u8s32 e4m3f32 e4m3f32bf16 e5m2f32 e5m2f32bf16 f64f64)
TRANSPOSES=(NN TT NT TN)

build=true
tools=()
families=()
configs=24
jobs=8
limit=600
out=
while [ $# -gt 0 ]; do
  case "$1" in
    --no-build) build=false ;;
    --tool | --family | --max-configs | --jobs | --limit | --out)
      [ $# -ge 2 ] || fail "$1: expected a value after it"
      case "$1" in
        --tool)
          [[ $2 =~ ^(memcheck|racecheck|synccheck)$ ]] || fail "--tool $2: expected memcheck, racecheck or synccheck"
          tools+=("$2")
          ;;
        --family)
          [[ $2 =~ ^(mma|wgmma|wmma|gemv|simt)$ ]] || fail "--family $2: expected mma, wgmma, wmma, gemv or simt"
          families+=("$2")
          ;;
        --out) out=$2 ;;
        *)
          [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "$1 $2: expected a whole number, 1 or more"
          case "$1" in
            --max-configs) configs=$2 ;;
            --jobs) jobs=$2 ;;
            --limit) limit=$2 ;;
          esac
          ;;
      esac
      shift
      ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done
[ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck synccheck)
[ ${#families[@]} -gt 0 ] || families=(mma wgmma)

# Overridable, so that the tests of this script need no GPU.
[ -n "${TILESMITH_GPU_INFO:-}" ] || have_gpu || fail "no GPU of compute capability 8.0 or newer here"
sanitizer=$(find_sanitizer)
exclude=--kernel-name-exclude
[[ $("$sanitizer" --help 2>&1) == *"$exclude"* ]] || exclude=--kernel-regex-exclude  # before CUDA 12.3
excluded=()
for part in "${BATTERY[@]}"; do excluded+=("$exclude" "kns=$part"); done
if $build; then "$ROOT/scripts/setup.sh" --target tilesmith; fi
require_program tilesmith

keep=true
if [ -z "$out" ]; then
  keep=false
  out=$(mktemp -d)
fi
mkdir -p "$out"
for tool in memcheck racecheck synccheck; do rm -f "$out/$tool".*.log "$out/$tool".*.result; done

# Each sample is a process group of its own (`timeout` makes it so), which an interrupt does not reach.
stop() {
  local job group
  for job in $(jobs -p); do
    for group in $(pgrep -P "$job"); do kill -KILL -- "-$group" 2>/dev/null || true; done
  done
  wait || true
  $keep || rm -rf "$out"
  exit 130
}
trap stop INT TERM HUP

# sample TOOL FAMILY TYPE TRANSPOSES: one line of what came of it in its .result, "clean", "none", or "FAILED". `timeout` kills its
# whole group: a first SIGTERM the program takes for a wish, and a kernel that hangs never lets it come to that.
sample() {
  local name=$1.$2.$3.$4 status=0 counts
  {
    timeout --signal=KILL "$limit" "$sanitizer" --tool "$1" "${excluded[@]}" --error-exitcode 86 \
      "$BUILD_DIR/bin/tilesmith" verify --family "$2" --type "$3" --trans "$4" --shape 64 --spread --max-configs "$configs" \
      --compile-jobs 1 >"$out/$name.log" 2>&1
  } 2>/dev/null || status=$?  # the shell's word on what was killed
  counts=$(sed -n 's/^.*: \([0-9]* right, .* failed\), in .*/\1/p' "$out/$name.log" | tail -n 1)
  if [ "$status" -ne 0 ] && grep -q 'none of the families has a kernel' "$out/$name.log"; then
    echo "none" >"$out/$name.result"
  elif [ "$status" -eq 0 ] && [ -n "$counts" ] && grep -Eq '(ERROR|RACECHECK) SUMMARY: 0 ' "$out/$name.log"; then
    echo "clean $counts" >"$out/$name.result"
  elif [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    echo "FAILED took longer than $limit s" >"$out/$name.result"
  else
    echo "FAILED exit status $status; see $out/$name.log" >"$out/$name.result"
  fi
}

started=0
for tool in "${tools[@]}"; do
  for family in "${families[@]}"; do
    for i in "${!TYPES[@]}"; do
      while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
      sample "$tool" "$family" "${TYPES[i]}" "${TRANSPOSES[i % 4]}" &
      started=$((started + 1))
    done
  done
done
wait

failed=0
right=0
ended=0
for result in "$out"/*.result; do
  [ -e "$result" ] || continue
  ended=$((ended + 1))
  read -r how what <"$result"
  name=$(basename "$result" .result)
  case $how in
    none) continue ;;
    clean) right=$((right + ${what%% *})) ;;
    *) failed=$((failed + 1)) ;;
  esac
  printf '%-40s %s %s\n' "${name//./ }" "$how" "$what"
done
failed=$((failed + started - ended))  # one that could not even say so
printf '%s configs right and clean, by all tools together; %s samples failed\n' "$right" "$failed"
if [ "$failed" -gt 0 ]; then
  echo "what they printed is in $out"
  exit 1
fi
[ "$right" -gt 0 ] || fail "no config was run: none of the families has a kernel for this GPU"
$keep || rm -rf "$out"
