#!/usr/bin/env bash
# scripts/same_code.py: kernels whose parameters lie elsewhere are the same, all else that differs is not. nvdisasm is a stand-in that prints the
# "cubin", which is text here.
# Usage: test_same_code_tells_code_from_places.sh ROOT
set -euo pipefail
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work"/{old,new}
# shellcheck disable=SC2016  # the stand-in's own argument
printf '#!/bin/sh\ncat "$2"\n' >"$work/bin/nvdisasm"
chmod +x "$work/bin/nvdisasm"
failed=0

plan() { printf '%s\t%s\t%s\t%s\tsm_90a\t%s\tc{a=1}\n' "$2" "$2" "$3" "$4" "$5" >>"$work/$1/a.db.tsv"; }
for tree in old new; do printf 'recorded\tplan\tlaunches\tkernel\tarch\tproblem\tconfig\n' >"$work/$tree/a.db.tsv"; done
kernel() {
  printf '%b' "$3" >"$work/$1/$2.cubin"
  echo "8 registers" >"$work/$1/$2.txt"
}
hash() { printf '%032d' "$1"; }

kernel old k1 '/*0010*/ MOV R1, c[0x0][0x210]\n/*0020*/ IADD R2, R1, c[0x0][0x218]\n'
kernel new n1 '/*0010*/ MOV R1, c[0x0][0x218]\n/*0020*/ IADD R2, R1, c[0x0][0x210]\n'  # the two changed places
kernel new n2 '/*0010*/ MOV R1, c[0x0][0x218]\n/*0020*/ IADD R2, R1, c[0x0][0x218]\n'  # one place for two
kernel new n3 '/*0010*/ MOV R1, c[0x0][0x210]\n/*0020*/ IADD R3, R1, c[0x0][0x218]\n'  # another register
kernel new n4 '/*0010*/ MOV R1, c[0x0][0x210]\n'
plan old "$(hash 1)" same k1 'f16f32 NN 1 1 1'; plan new "$(hash 11)" same n1 'f16f32 NN 1 1 1'
plan old "$(hash 2)" same k1 'f16f32 NN 2 2 2'; plan new "$(hash 12)" same n2 'f16f32 NN 2 2 2'
plan old "$(hash 3)" same k1 'f16f32 NN 3 3 3'; plan new "$(hash 13)" same n3 'f16f32 NN 3 3 3'
plan old "$(hash 4)" same k1 'f16f32 NN 4 4 4'; plan new "$(hash 14)" other n1 'f16f32 NN 4 4 4'
plan old "$(hash 5)" same k1 'f16f32 NN 5 5 5'; plan new "$(hash 15)" same n4 'f16f32 NN 5 5 5'
echo '8 registers; error: identifier "x" is undefined' >"$work/new/n8.txt"  # no cubin
kernel new n9 '/*0010*/ MOV R1, c[0x0][0x210]\n/*0020*/ IADD R2, R1, c[0x0][0x218]\n'
echo "9 registers" >"$work/new/n9.txt"
plan old "$(hash 8)" same k1 'f16f32 NN 8 8 8'; plan new "$(hash 18)" same n8 'f16f32 NN 8 8 8'
plan old "$(hash 9)" same k1 'f16f32 NN 9 9 9'; plan new "$(hash 19)" same n9 'f16f32 NN 9 9 9'
plan old "$(hash 6)" same k1 'f16f32 NN 6 6 6'
plan old "$(hash 7)" same k1 'f16f32 NN 7 7 7'; plan new "$(hash 17)" same missing 'f16f32 NN 7 7 7'

status=0
PATH=$work/bin:$PATH python3 "$root/scripts/same_code.py" --out "$work/table" "$work/old" "$work/new" a.db >"$work/said" || status=$?
says() { grep -q -- "$1" "$work/said" || { echo "nothing says '$1' in:"; cat "$work/said"; failed=1; }; }
[ $status = 1 ] || { echo "exit status $status, expected 1"; failed=1; }
says 'code: sm_90a f16f32 NN 8 8 8'
says 'code: sm_90a f16f32 NN 9 9 9'
says '^1 same, 6 differ, 1 without a plan, 1 not compared'
says 'code: sm_90a f16f32 NN 2 2 2'
says 'code: sm_90a f16f32 NN 3 3 3'
says 'launches: sm_90a f16f32 NN 4 4 4'
says 'code: sm_90a f16f32 NN 5 5 5'
says 'no plan any more: sm_90a f16f32 NN 6 6 6'
printf 'plan %s %s\nkernel k1 n1\n' "$(hash 1)" "$(hash 11)" | diff - <(grep -v '^#' "$work/table") || failed=1
exit $failed
