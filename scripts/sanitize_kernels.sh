#!/usr/bin/env bash
# Runs samples of the kernel families under NVIDIA's compute-sanitizer: memcheck, racecheck and synccheck, a sample for each family
# and type pair, whose transposes take turns. Each sampled config goes through the verification suite (`tilesmith verify`), under
# racecheck through each of its shapes once (`--brief`).
# The suite's own kernels are not instrumented, or a handful of configs would take minutes. They are excluded by name: were ours chosen by
# name, a name that matched nothing would look like kernels without errors.
#
# Usage: sanitize_kernels.sh [--no-build] [--tool NAME]... [--family NAME]... [--type PAIR]... [--trans TRANS]...
#                            [--with FIELDS]... [--max-configs N] [--seed N] [--jobs N] [--limit SECONDS] [--resume] [--out FOLDER] [--help]
#   --no-build        run the program that is in the build folder
#   --tool NAME       memcheck, racecheck or synccheck; repeatable (default: all three)
#   --family NAME     mma, wgmma, wmma, gemv, ffma, dequant or simt; repeatable (default: mma and wgmma)
#   --type PAIR       of these type pairs only, such as bf16f32; repeatable. A pair's sample is the same as among all of them
#   --trans TRANS     of these transposes, NN, TT, NT or TN, each a sample of its own; repeatable (default: one a type pair, in
#                     turn). Operands of `mma` change places for tf32f32 NN and TN, whose turn is TT
#   --with FIELDS     of problems with these fields, as `tilesmith verify --with` takes them, such as epilogue=bias_n+gelu or
#                     sparsity=a_2to4, weights=s4_g128 or batch=3,batch_mode=grouped; repeatable, each a sample of its own (default: plain
#                     ones). Of transposes those take turns that such problems have. Type pairs that have no such problems are told and left out
#   --max-configs N   configs of each family, type pair and tool (default: 24, by which every parameter has every value that is
#                     legal for the pair and its transposes; by 9 the type pairs of a family have most values together.
#                     Racecheck takes 40 s a config where 14 samples run at a time)
#   --seed N          which configs: the first type pair's sample has this seed, the next one's the next (default: 1)
#   --jobs N          samples at a time, each a process of its own on the one GPU (default: 8)
#   --limit SECONDS   a sample that takes longer is killed and counts as failed (default: 1800)
#   --out FOLDER      keep what each sample printed there; what an earlier run left there goes (default: a folder that is
#                     removed, unless something failed)
#   --resume          go on with the run that left FOLDER: what was clean by it is not run again
# Exit status: 0 if all samples are clean, 1 if one is not, 2 for a wrong option or a machine that cannot.
# Environment: TILESMITH_BUILD_DIR, the build folder (default: build/release).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Of tuner/verify/reference_source.cpp, by parts of their names.
SUITE=(multiply_ compare_ fill_ check copy_words reset_reports)
TYPES=(f16f32 bf16f32 f16f16 f16f32f16 bf16f32bf16 tf32f32 s8s32 u8s32 e4m3f32 e4m3f32bf16 e5m2f32 e5m2f32bf16 f64f64 f32f32 f32x3f32 s8s32bf16 s8s32s8 e4m3f32e4m3 s4s32 u4s32 b1s32 b1xors32)
TRANSPOSES=(NN TT NT TN)

build=true
tools=()
families=()
wanted=()
transposes=()
fields=()
configs=24
seed=1
jobs=8
limit=1800
resume=false
out=
while [ $# -gt 0 ]; do
  case "$1" in
    --no-build) build=false ;;
    --resume) resume=true ;;
    --tool | --family | --type | --trans | --with | --max-configs | --seed | --jobs | --limit | --out)
      [ $# -ge 2 ] || fail "$1: expected a value after it"
      case "$1" in
        --tool)
          [[ $2 =~ ^(memcheck|racecheck|synccheck)$ ]] || fail "--tool $2: expected memcheck, racecheck or synccheck"
          tools+=("$2")
          ;;
        --family)
          [[ $2 =~ ^(mma|wgmma|wmma|gemv|ffma|dequant|simt)$ ]] || fail "--family $2: expected mma, wgmma, wmma, gemv, ffma, dequant or simt"
          families+=("$2")
          ;;
        --type)
          [[ " ${TYPES[*]} " == *" $2 "* ]] || fail "--type $2: expected one of ${TYPES[*]}"
          wanted+=("$2")
          ;;
        --trans)
          [[ " ${TRANSPOSES[*]} " == *" $2 "* ]] || fail "--trans $2: expected one of ${TRANSPOSES[*]}"
          transposes+=("$2")
          ;;
        --with)
          [[ $2 =~ ^[a-z_]+=[a-z0-9_+]+(,[a-z_]+=[a-z0-9_+]+)*$ ]] || fail "--with $2: expected FIELD=VALUE, more behind commas"
          fields+=("$2")
          ;;
        --out) out=$2 ;;
        *)
          [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "$1 $2: expected a whole number, 1 or more"
          case "$1" in
            --max-configs) configs=$2 ;;
            --seed) seed=$2 ;;
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
[ ${#wanted[@]} -gt 0 ] || wanted=("${TYPES[@]}")
[ ${#fields[@]} -gt 0 ] || fields=(plain)
if $resume && [ -z "$out" ]; then fail "--resume: expected --out FOLDER, which holds what is to be gone on with"; fi

# Overridable, so that the tests of this script need no GPU.
[ -n "${TILESMITH_GPU_INFO:-}" ] || have_gpu || fail "no GPU of compute capability 8.0 or newer here"
sanitizer=$(find_sanitizer)
exclude=--kernel-name-exclude
[[ $("$sanitizer" --help 2>&1) == *"$exclude"* ]] || exclude=--kernel-regex-exclude  # before CUDA 12.3
excluded=()
for part in "${SUITE[@]}"; do excluded+=("$exclude" "kns=$part"); done
if $build; then "$ROOT/scripts/setup.sh" --target tilesmith; fi
require_program tilesmith

keep=true
if [ -z "$out" ]; then
  keep=false
  out=$(mktemp -d)
fi
mkdir -p "$out"
samples="$configs configs from seed $seed of $("$ROOT/scripts/content_hash.sh")"
if $resume && [ -e "$out/samples" ]; then
  [ "$samples" = "$(<"$out/samples")" ] || fail "--resume: $out holds $(<"$out/samples"), expected $samples"
else
  for tool in memcheck racecheck synccheck; do rm -f "$out/$tool".*.log "$out/$tool".*.result; done
  echo "$samples" >"$out/samples"
fi

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

# fitting FIELDS: the transposes that problems with such fields can have.
fitting() {
  case ,$1, in
    *,sparsity=a_2to4,* | *,batch_mode=grouped,*) echo NN NT ;;
    *,sparsity=b_2to4,* | *,weights=*) echo NT TT ;;
    *) echo "${TRANSPOSES[*]}" ;;
  esac
}

# name_of TOOL FAMILY TYPE TRANSPOSES FIELDS: of its files.
name_of() { if [ "$5" = plain ]; then echo "$1.$2.$3.$4"; else echo "$1.$2.$3.$4.$5"; fi; }

# sample TOOL FAMILY TYPE TRANSPOSES FIELDS SEED: one line of what came of it in its .result, "clean", "none", or "FAILED". `timeout`
# kills its whole group: a first SIGTERM the program takes for a wish, and a kernel that hangs never lets it come to that.
sample() {
  local name status=0 counts result refused suite=()
  name=$(name_of "$1" "$2" "$3" "$4" "$5")
  [ "$5" = plain ] || suite=(--with "$5")
  [ "$1" != racecheck ] || suite+=(--brief)
  {
    timeout --signal=KILL "$limit" "$sanitizer" --tool "$1" "${excluded[@]}" --error-exitcode 86 \
      "$BUILD_DIR/bin/tilesmith" verify --family "$2" --type "$3" --trans "$4" --shape 1024 --spread --max-configs "$configs" \
      --seed "$6" --compile-jobs 1 "${suite[@]}" >"$out/$name.log" 2>&1
  } 2>/dev/null || status=$?  # the shell's word on what was killed
  counts=$(sed -n 's/^.*: \([0-9]* right, .* failed\), in .*/\1/p' "$out/$name.log" | tail -n 1)
  if [ "$status" -ne 0 ] && grep -q 'none of the families has a kernel' "$out/$name.log"; then
    result=none
  elif refused=$(grep -om 1 -- '--with: .*' "$out/$name.log") && [ "$status" -eq 2 ]; then
    result="none $refused"
  elif [ "$status" -eq 0 ] && [ -n "$counts" ] && grep -Eq '(ERROR|RACECHECK) SUMMARY: 0 ' "$out/$name.log"; then
    result="clean $counts"
  elif [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    result="FAILED took longer than $limit s"
  elif [ "$status" -eq 9 ]; then  # seen where many ran at a time and the program had no last word
    result="FAILED killed, as where memory runs out (fewer --jobs may do); see $out/$name.log"
  else
    result="FAILED exit status $status; see $out/$name.log"
  fi
  echo "$result" >"$out/$name.result"
  [ "$result" = none ] || printf '%-40s %s\n' "${name//./ }" "$result"
}

planned=()
for tool in "${tools[@]}"; do
  for family in "${families[@]}"; do
    for i in "${!TYPES[@]}"; do
      [[ " ${wanted[*]} " == *" ${TYPES[i]} "* ]] || continue
      for with in "${fields[@]}"; do
        read -ra can <<<"$(fitting "$with")"
        turn=("${transposes[@]}")
        [ ${#turn[@]} -gt 0 ] || turn=("${can[i % ${#can[@]}]}")
        for trans in "${turn[@]}"; do planned+=("$tool $family ${TYPES[i]} $trans $with $((seed + i))"); done
      done
    done
  done
done

for one in "${planned[@]}"; do
  read -r tool family type trans with own_seed <<<"$one"
  if $resume && grep -Eqs '^(clean|none)' "$out/$(name_of "$tool" "$family" "$type" "$trans" "$with").result"; then continue; fi
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  sample "$tool" "$family" "$type" "$trans" "$with" "$own_seed" &
done
wait

# Of these samples alone: FOLDER may hold others.
failed=0
right=0
for one in "${planned[@]}"; do
  read -r tool family type trans with own_seed <<<"$one"
  how=
  { read -r how what <"$out/$(name_of "$tool" "$family" "$type" "$trans" "$with").result"; } 2>/dev/null || true
  case $how in
    none) ;;
    clean) right=$((right + ${what%% *})) ;;
    *) failed=$((failed + 1)) ;;  # or it could not even say so
  esac
done
printf '%s configs right and clean, by all tools together; %s samples failed\n' "$right" "$failed"
if [ "$failed" -gt 0 ]; then
  echo "what they printed is in $out"
  exit 1
fi
[ "$right" -gt 0 ] || fail "no config was run: none of the families has such a kernel for this GPU"
$keep || rm -rf "$out"
