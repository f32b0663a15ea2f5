#!/usr/bin/env bash
# sanitize_kernels.sh, over stand-ins for compute-sanitizer and the program: a hazard, a sample that hangs and one in which
# nothing was right each fail it, types that a family does not have are passed over, and of the kernels that the sources name
# those of the battery are left out, none of the families'.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
cat >"$folder/bin/compute-sanitizer" <<'FAKE'
#!/usr/bin/env bash
if [ "$1" = --help ]; then echo "  --kernel-name-exclude arg"; exit 0; fi
echo "$@" >>"$0.calls"
tool=$2
while [ "$1" != --error-exitcode ]; do shift; done
shift 2
"$@" || exit $?
case "$tool $*" in
  "racecheck "*"$HAZARD_IN"*) exit 86 ;;
esac
FAKE
cat >"$folder/bin/tilesmith" <<'FAKE'
#!/usr/bin/env bash
case "$*" in
  *"--family wgmma --type f64f64"*) echo "--family: none of the families has a kernel for these type pairs on this architecture"; exit 2 ;;
  *"$HANGS_IN"*) sleep 30 ;;
  *"$SILENT_IN"*) exit 0 ;;
esac
echo "Stand-in: 5 right, 1 not built, 0 failed, in 3 s"
FAKE
chmod +x "$folder/bin/"*

# run OPTION...: sets $status; what it printed is in out.
run() {
  status=0
  rm -f "$folder/bin/compute-sanitizer.calls"
  PATH=$folder/bin:$PATH TILESMITH_BUILD_DIR=$folder bash "$root/scripts/sanitize_kernels.sh" --no-build "$@" \
    >"$folder/out" 2>&1 || status=$?
}
wrong() { echo "$*"; cat "$folder/out"; exit 1; }

export HAZARD_IN=nothing HANGS_IN=nothing SILENT_IN=nothing
run --out "$folder/logs"
[ "$status" -eq 0 ] || wrong "a clean run: exit status $status"
samples=$(grep -c ' clean 5 right' "$folder/out")
[ "$samples" -eq $((3 * (13 + 12))) ] || wrong "$samples samples of three tools, 13 and 12 type pairs"
grep -q "^$((5 * samples)) configs right and clean" "$folder/out" || wrong "the sum is not of all samples"

HAZARD_IN="--type s8s32" run --tool racecheck --tool memcheck --family mma --out "$folder/logs"
[ "$status" -eq 1 ] || wrong "a hazard: exit status $status"
[ "$(grep -c FAILED "$folder/out")" -eq 1 ] && grep -q '^racecheck mma s8s32 .*FAILED' "$folder/out" || wrong "a hazard is not told"
HANGS_IN="--type tf32f32" run --tool synccheck --family wgmma --limit 1 --out "$folder/logs"
[ "$status" -eq 1 ] && grep -q 'tf32f32 .*longer than 1 s' "$folder/out" || wrong "a sample that hangs: exit status $status"
SILENT_IN="--type bf16f32 " run --tool memcheck --family mma --out "$folder/logs"
[ "$status" -eq 1 ] && grep -q 'bf16f32 .*FAILED' "$folder/out" || wrong "a sample without a count: exit status $status"

mapfile -t parts < <(tr ' ' '\n' <"$folder/bin/compute-sanitizer.calls" | sed -n 's/^kns=//p' | sort -u)
[ "${#parts[@]}" -gt 0 ] || wrong "no kernel is excluded"
kernels_in() { grep -rhoE '__global__ void( __launch_bounds__\([^)]*\))?[[:space:]]+[a-z_]+\(|^    [a-z_]+\(const __grid_constant__' "$@" |
  grep -oE '[a-z_]+\($|[a-z_]+\(const' | sed 's/(.*//' | sort -u; }
excluded() {
  for part in "${parts[@]}"; do if [[ $1 == *"$part"* ]]; then return 0; fi; done
  return 1
}
mapfile -t battery < <(kernels_in "$root/tuner/verify/reference_source.cpp")
mapfile -t own < <(kernels_in "$root/kernels")
[ "${#battery[@]}" -ge 10 ] || wrong "found only these kernels of the battery: ${battery[*]}"
[[ " ${own[*]} " == *" gemm "* && " ${own[*]} " == *" pack "* && " ${own[*]} " == *" sum_slices "* ]] || wrong "found only these kernels of the families: ${own[*]}"
for kernel in "${battery[@]}"; do excluded "$kernel" || wrong "the battery's $kernel is not excluded"; done
for kernel in "${own[@]}"; do if excluded "$kernel"; then wrong "the families' $kernel is excluded"; fi; done
