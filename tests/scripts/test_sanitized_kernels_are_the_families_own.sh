#!/usr/bin/env bash
# sanitize_kernels.sh, over stand-ins for compute-sanitizer and the program: a hazard, a sample that hangs, one that is killed and one in which
# nothing was right each fail it, types that a family does not have are passed over, a run that is gone on with repeats only
# what was not clean, and of the kernels that the sources name those of the suite are left out, none of the families'.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
cat >"$folder/bin/compute-sanitizer" <<'FAKE'
#!/usr/bin/env bash
if [ "$1" = --help ]; then echo "  $EXCLUDE arg"; exit 0; fi
echo "$@" >>"$0.calls"
tool=$2
while [ "$1" != --error-exitcode ]; do shift; done
shift 2
"$@" || exit $?
case "$tool $*" in
  "racecheck "*"$HAZARD_IN"*) echo "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"; exit 86 ;;
  "racecheck "*"$WARNING_IN"*) echo "RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)" ;;
  "racecheck "*) echo "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
  *) echo "ERROR SUMMARY: 0 errors" ;;
esac
FAKE
cat >"$folder/bin/tilesmith" <<'FAKE'
#!/usr/bin/env bash
case "$*" in
  *"--family wgmma --type f64f64"*) echo "--family: none of the families has a kernel for these type pairs on this architecture"; exit 2 ;;
  *"--type f64f64"*"--with sparsity"*) echo "tilesmith verify: --with: sparsity is a_2to4: expected operands of f16 and others"; exit 2 ;;
  *"$HANGS_IN"*)
    trap '' TERM  # the program would end when its kernel has
    echo $$ >>"$0.hanging"
    sleep 30
    ;;
  *"$SILENT_IN"*) exit 0 ;;
  *"$KILLED_IN"*) exit 9 ;;
esac
echo "Stand-in: 5 right, 1 not built, 0 failed, in 3 s"
FAKE
chmod +x "$folder/bin/"*

# run OPTION...: sets $status; what it printed is in out.
run() {
  status=0
  rm -f "$folder/bin/compute-sanitizer.calls" "$folder/bin/tilesmith.hanging"
  PATH=$folder/bin:$PATH TILESMITH_BUILD_DIR=$folder TILESMITH_GPU_INFO='{"device": "Stand-in"}' bash "$root/scripts/sanitize_kernels.sh" --no-build "$@" \
    >"$folder/out" 2>&1 || status=$?
}
wrong() { echo "$*"; cat "$folder/out"; exit 1; }

# Within five seconds; who was killed and has not been buried does not hang.
none_hangs() {
  local i
  for ((i = 0; i < 50; i++)); do
    if ! xargs -r ps -o stat= -p <"$folder/bin/tilesmith.hanging" | grep -qv '^Z'; then return; fi
    sleep 0.1
  done
  return 1
}

export HAZARD_IN=nothing WARNING_IN=nothing HANGS_IN=nothing SILENT_IN=nothing KILLED_IN=nothing EXCLUDE=--kernel-name-exclude
mkdir "$folder/logs"
touch "$folder/logs/mine.log" "$folder/logs/racecheck.mma.old.NN.result"
run --out "$folder/logs"
[ "$status" -eq 0 ] || wrong "a clean run: exit status $status"
samples=$(grep -c ' clean 5 right' "$folder/out" || true)
[ "$samples" -eq $((3 * (22 + 21))) ] || wrong "$samples samples of three tools, 22 and 21 type pairs"
grep -q "^$((5 * samples)) configs right and clean" "$folder/out" || wrong "the sum is not of all samples"
calls=$folder/bin/compute-sanitizer.calls
[ "$(grep -c -- '--brief' "$calls")" -eq $((samples / 3 + 1)) ] || wrong "not each sample of one tool went through each shape once"
! grep -v racecheck "$calls" | grep -q -- '--brief' || wrong "another tool than racecheck had each shape once"
[ -e "$folder/logs/mine.log" ] || wrong "a file that is not the script's was removed"

HAZARD_IN="--type s8s32 " run --tool racecheck --tool memcheck --family mma
[ "$status" -eq 1 ] || wrong "a hazard: exit status $status"
[ "$(grep -c FAILED "$folder/out")" -eq 1 ] || wrong "expected one failure"
grep -q '^racecheck mma s8s32 .*FAILED' "$folder/out" || wrong "a hazard is not told"
rm -r "$(sed -n 's/^what they printed is in //p' "$folder/out")"
run --tool memcheck --family mma --type f16f32 --trans NN --with epilogue=bias_n+gelu --with batch=3,batch_mode=grouped --out "$folder/fields"
[ "$status" -eq 0 ] || wrong "samples with fields: exit status $status"
[ "$(grep -c ' clean 5 right' "$folder/out")" -eq 2 ] || wrong "expected a sample for each --with"
for fields in epilogue=bias_n+gelu batch=3,batch_mode=grouped; do
  grep -q -- "--with $fields" "$calls" || wrong "the program was not asked for $fields"
done
run --tool memcheck --family mma --with sparsity=a_2to4 --with weights=s4_g128
for fields in sparsity=a_2to4 weights=s4_g128; do
  turns=$(grep -- "--with $fields" "$calls" | grep -oE -- '--trans [NT]{2} ' | sort -u | tr -d '\n')
  if [ "$fields" = sparsity=a_2to4 ]; then fit="--trans NN --trans NT "; else fit="--trans NT --trans TT "; fi
  [ "$turns" = "$fit" ] || wrong "$fields has samples of $turns, expected $fit"
done
grep -q '^memcheck mma f64f64 .*none --with: sparsity is a_2to4: expected operands' "$folder/out" || wrong "it is not told what has no such problems"
run --with "epilogue=; true"
[ "$status" -eq 2 ] || wrong "fields that are none: exit status $status"
WARNING_IN="--type u8s32 " run --tool racecheck --family mma --out "$folder/logs"
[ "$status" -eq 1 ] || wrong "a warning: exit status $status"
HANGS_IN="--type tf32f32" run --tool synccheck --family wgmma --limit 1 --out "$folder/logs"
[ "$status" -eq 1 ] || wrong "a sample that hangs: exit status $status"
grep -q 'tf32f32 .*longer than 1 s' "$folder/out" || wrong "a sample that hangs is not told"
none_hangs || wrong "a sample that hangs outlives the script"
SILENT_IN="--type" run --tool memcheck --family mma --out "$folder/logs"
[ "$status" -eq 1 ] || wrong "samples without a count: exit status $status"
grep -q '; 22 samples failed' "$folder/out" || wrong "not all samples without a count failed"
KILLED_IN="--type u8s32" run --tool memcheck --family mma --out "$folder/logs"
[ "$status" -eq 1 ] || wrong "a sample that is killed: exit status $status"
grep -q 'u8s32 .*FAILED killed' "$folder/out" || wrong "a sample that is killed is not told"

HAZARD_IN="--type s8s32 " run --tool racecheck --family mma --out "$folder/logs"
run --resume --tool racecheck --family mma --out "$folder/logs"
[ "$status" -eq 0 ] || wrong "a run that was gone on with: exit status $status"
[ "$(grep -c -- '--type s8s32 ' "$folder/bin/compute-sanitizer.calls")" -eq "$(wc -l <"$folder/bin/compute-sanitizer.calls")" ] ||
  wrong "what was clean ran again"
grep -q '^110 configs right and clean' "$folder/out" || wrong "the sum is not of the run that was gone on with"
run --resume --seed 2 --tool racecheck --family mma --out "$folder/logs"
[ "$status" -eq 2 ] || wrong "going on with other samples: exit status $status"
grep -q 'holds 24 configs from seed 1' "$folder/out" || wrong "it is not told which samples the folder holds"

run --tool racecheck --family mma
sample_of_all=$(grep -- '--type u8s32 ' "$folder/bin/compute-sanitizer.calls")
run --tool racecheck --family mma --type u8s32 --type f16f16
[ "$(wc -l <"$folder/bin/compute-sanitizer.calls")" -eq 2 ] || wrong "other type pairs ran than those asked for"
[ "$(grep -- '--type u8s32 ' "$folder/bin/compute-sanitizer.calls")" = "$sample_of_all" ] || wrong "alone a type pair has another sample"
run --tool racecheck --family mma --out "$folder/logs"
[ "$status" -eq 0 ] || wrong "a clean run: exit status $status"
HAZARD_IN="--type u8s32" run --tool racecheck --family mma --type u8s32 --out "$folder/logs"
[ "$status" -eq 1 ] || wrong "a hazard in the only type pair: exit status $status"
HAZARD_IN="--type u8s32" run --tool racecheck --family mma --out "$folder/logs"
HAZARD_IN="--type u8s32" run --resume --tool racecheck --family mma --type u8s32 --out "$folder/logs"
[ "$status" -eq 1 ] || wrong "what other type pairs left in the folder hides a hazard: exit status $status"
run --resume --tool racecheck --family mma --type f16f16 --out "$folder/logs"
[ "$status" -eq 0 ] || wrong "what another type pair left in the folder fails this one: exit status $status"
grep -q '^5 configs right and clean' "$folder/out" || wrong "the sum is not of the type pair asked for"
run --tool racecheck --family mma --type u8s32 --trans NN --trans TN
[ "$status" -eq 0 ] || wrong "transposes that were asked for: exit status $status"
[ "$(grep -oE -- '--trans [NT]{2} ' "$folder/bin/compute-sanitizer.calls" | sort | tr -d '\n')" = "--trans NN --trans TN " ] ||
  wrong "other transposes ran than those asked for"
run --trans nn
[ "$status" -eq 2 ] || wrong "unknown transposes: exit status $status"
run --type f16
[ "$status" -eq 2 ] || wrong "an unknown type pair: exit status $status"
grep -q -- '--type f16: expected one of f16f32 ' "$folder/out" || wrong "it is not told which type pairs there are"

EXCLUDE=--kernel-regex-exclude run --tool memcheck --family gemv --out "$folder/logs"
[ "$status" -eq 0 ] || wrong "an older sanitizer: exit status $status"
grep -q -- '--kernel-regex-exclude kns=' "$folder/bin/compute-sanitizer.calls" || wrong "an older sanitizer's option is not used"

mapfile -t parts < <(tr ' ' '\n' <"$folder/bin/compute-sanitizer.calls" | sed -n 's/^kns=//p' | sort -u)
[ "${#parts[@]}" -gt 0 ] || wrong "no kernel is excluded"
kernels_in() { grep -rhoE '__global__ void( __launch_bounds__\([^)]*\))?[[:space:]]+[a-z_]+\(|^    [a-z_]+\(const __grid_constant__' "$@" |
  grep -oE '[a-z_]+\($|[a-z_]+\(const' | sed 's/(.*//' | sort -u; }
excluded() {
  for part in "${parts[@]}"; do if [[ $1 == *"$part"* ]]; then return 0; fi; done
  return 1
}
mapfile -t suite < <(kernels_in "$root/tuner/verify/reference_source.cpp" "$root/tuner/verify/weights_source.cpp")
mapfile -t own < <(kernels_in "$root/kernels")
[ "${#suite[@]}" -ge 10 ] || wrong "found only these kernels of the suite: ${suite[*]}"
[[ " ${own[*]} " == *" gemm "* && " ${own[*]} " == *" pack "* && " ${own[*]} " == *" sum_slices "* ]] || wrong "found only these kernels of the families: ${own[*]}"
for kernel in "${suite[@]}"; do excluded "$kernel" || wrong "the suite's $kernel is not excluded"; done
for kernel in "${own[@]}"; do if excluded "$kernel"; then wrong "the families' $kernel is excluded"; fi; done
