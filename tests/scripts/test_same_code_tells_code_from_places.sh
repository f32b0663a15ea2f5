#!/usr/bin/env bash
# scripts/same_code.py: functions are compared by name. Those whose parameters lie elsewhere are the same, all else that differs is not, and what the new
# cubin alone has does not count. nvdisasm is a stand-in that prints the "cubin", which is text here.
# Usage: test_same_code_tells_code_from_places.sh ROOT
set -euo pipefail
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work"/{old,new}
# shellcheck disable=SC2016  # the stand-in's own argument
printf '#!/bin/sh\ncat "$1"\n' >"$work/bin/nvdisasm"
chmod +x "$work/bin/nvdisasm"
failed=0

plan() { printf '%s\t%s\t%s\t%s\tsm_90a\t%s\tc{a=1}\n' "$2" "$2" "$3" "$4" "$5" >>"$work/$1/a.db.tsv"; }
for tree in old new; do printf 'recorded\tplan\tlaunches\tkernel\tarch\tproblem\tconfig\n' >"$work/$tree/a.db.tsv"; done
# kernel TREE NAME SECTION...: by function() and section().
kernel() {
  local tree=$1 name=$2
  shift 2
  printf '%b\n' "$@" >"$work/$tree/$name.cubin"
  echo "8 registers" >"$work/$tree/$name.txt"
}
section() { printf '\t.section\t%s,"a",@progbits\n%b\n' "$1" "$2"; }
function_of() { section ".text.$1" "$1:\n$2"; }
registers() { printf '\t//----- nvinfo : EIATTR_REGCOUNT\n\t.align\t\t4\n.L_%s:\n/*0004*/ .word index@(%s)\n/*0008*/ .word %s\n' "$1" "$2" "$3"; }
hash() { printf '%032d' "$1"; }

code='/*0010*/ MOV R1, c[0x0][0x210]\n/*0020*/ IADD R2, R1, c[0x0][0x218]\n'
kernel old k1 "$(function_of gemm "$code")"
kernel new n1 "$(function_of gemm '/*0010*/ MOV R1, c[0x0][0x218]\n/*0020*/ IADD R2, R1, c[0x0][0x210]\n')"  # the two changed places
kernel new n2 "$(function_of gemm '/*0010*/ MOV R1, c[0x0][0x218]\n/*0020*/ IADD R2, R1, c[0x0][0x218]\n')"  # one place for two
kernel new n3 "$(function_of gemm '/*0010*/ MOV R1, c[0x0][0x210]\n/*0020*/ IADD R3, R1, c[0x0][0x218]\n')"  # another register
kernel new n4 "$(function_of gemm '/*0010*/ MOV R1, c[0x0][0x210]\n')"
plan old "$(hash 1)" same k1 'f16f32 NN 1 1 1'; plan new "$(hash 11)" same n1 'f16f32 NN 1 1 1'
plan old "$(hash 2)" same k1 'f16f32 NN 2 2 2'; plan new "$(hash 12)" same n2 'f16f32 NN 2 2 2'
plan old "$(hash 3)" same k1 'f16f32 NN 3 3 3'; plan new "$(hash 13)" same n3 'f16f32 NN 3 3 3'
plan old "$(hash 4)" same k1 'f16f32 NN 4 4 4'; plan new "$(hash 14)" other n1 'f16f32 NN 4 4 4'
plan old "$(hash 5)" same k1 'f16f32 NN 5 5 5'; plan new "$(hash 15)" same n4 'f16f32 NN 5 5 5'
echo '8 registers; error: identifier "x" is undefined' >"$work/new/n8.txt"  # no cubin
kernel new n9 "$(function_of gemm "$code")"
echo "9 registers" >"$work/new/n9.txt"
plan old "$(hash 8)" same k1 'f16f32 NN 8 8 8'; plan new "$(hash 18)" same n8 'f16f32 NN 8 8 8'
plan old "$(hash 9)" same k1 'f16f32 NN 9 9 9'; plan new "$(hash 19)" same n9 'f16f32 NN 9 9 9'
plan old "$(hash 6)" same k1 'f16f32 NN 6 6 6'
plan old "$(hash 7)" same k1 'f16f32 NN 7 7 7'; plan new "$(hash 17)" same missing 'f16f32 NN 7 7 7'

# Two functions, the second with a loop and a constant, and a variable of the module; in the new cubin in the other order, with other labels and a third function.
loop() { printf '%s' ".L_x_$1:\n/*0010*/ LDS R1, [R2]\n/*0020*/ @P0 BRA \`(.L_x_$1);\n/*0030*/ @P1 BRA \`(.L_x_$2);\n.L_x_$2:\n"; }
module() { # GEMM LOOP CONSTANT SHARED VARIABLE REGISTERS
  function_of sum "$2"
  function_of gemm "$1"
  section .nv.constant2.sum "/*0000*/ .word $3"
  section .nv.shared.sum ".zero $4"
  section .nv.constant0.sum '.zero 540'
  section .nv.global.init "table:\n/*0000*/ .word $5"
  section .nv.info "$(registers 1 sum "$6"; registers 2 gemm 0x08)"
}
kernel old k20 "$(module "$code" "$(loop 3 7)" 0x1 256 0x2 0x20)"
kernel new n20 "$(section .nv.info "$(registers 5 other 0x40; registers 6 gemm 0x08; registers 7 sum 0x20)"; section .nv.constant0.sum '.zero 600'
  section .nv.global.init 'table:\n/*0000*/ .word 0x2'; function_of gemm "$code"; function_of other '/*0010*/ EXIT\n'
  section .nv.shared.sum '.zero 256'; section .nv.constant2.sum '/*0000*/ .word 0x1'; function_of sum "$(loop 9 2)")"
kernel new n21 "$(module "$code" "$(loop 3 7)" 0x3 256 0x2 0x20)"               # another constant of a function
kernel new n22 "$(module "$code" "$(loop 3 7)" 0x1 512 0x2 0x20)"               # more shared memory
kernel new n23 "$(module "$code" "$(loop 3 7)" 0x1 256 0x4 0x20)"               # another variable of the module, which nothing reads
kernel new n24 "$(module "$code" "$(loop 3 7)" 0x1 256 0x2 0x21)"               # more registers, of the function that is not the first
kernel new n25 "$(module "$code" "$(loop 3 7 | sed 's/(.L_x_3)/(.L_x_7)/')" 0x1 256 0x2 0x20)"  # a branch to another place
kernel new n26 "$(module "$code" '/*0010*/ EXIT\n' 0x1 256 0x2 0x20)"           # another second function
kernel new n27 "$(module "$code" "$(loop 3 7)" 0x1 256 0x2 0x20 | sed 's/\.sum/.add/; s/sum:/add:/; s/(sum)/(add)/')"  # one that is not there any more
kernel new n28 "$(module "$(printf '%s' "$code" | sed 's/218/220/')" "$(loop 3 7)" 0x1 256 0x2 0x20)"  # the same code, a place moved
kernel old k29 "$(function_of gemm "$code")" "$(function_of sum '/*0010*/ MOV R1, c[0x0][0x210]\n')"
kernel new n29 "$(function_of gemm "$code")" "$(function_of sum '/*0010*/ MOV R1, c[0x0][0x220]\n')"  # places are those of a function
variable='/*0010*/ LDC R1, c[0x4][0x8]\n'
kernel old k30 "$(module "$variable" "$(loop 3 7)" 0x1 256 0x2 0x20)"
kernel new n30 "$(module "$variable" "$(loop 3 7)" 0x1 256 0x4 0x20)"           # another variable that a function reads
for i in 20 21 22 23 24 25 26 27 28 29 30; do
  plan old "$(hash $i)" same "k$((i < 29 ? 20 : i))" "f16f32 NN $i $i $i"
  plan new "$(hash $((i + 20)))" same "n$i" "f16f32 NN $i $i $i"
done

status=0
PATH=$work/bin:$PATH python3 "$root/scripts/same_code.py" --out "$work/table" "$work/old" "$work/new" a.db >"$work/said" || status=$?
says() { grep -q -- "$1" "$work/said" || { echo "nothing says '$1' in:"; cat "$work/said"; failed=1; }; }
[ $status = 1 ] || { echo "exit status $status, expected 1"; failed=1; }
says 'code: sm_90a f16f32 NN 8 8 8'
says 'code: sm_90a f16f32 NN 9 9 9'
says '^5 same, 13 differ, 1 without a plan, 1 not compared'
for i in 21 22 24 25 26 27 30; do says "code: sm_90a f16f32 NN $i $i $i"; done
says 'code: sm_90a f16f32 NN 2 2 2'
says 'code: sm_90a f16f32 NN 3 3 3'
says 'launches: sm_90a f16f32 NN 4 4 4'
says 'code: sm_90a f16f32 NN 5 5 5'
says 'no plan any more: sm_90a f16f32 NN 6 6 6'
{
  printf 'plan %s %s\n' "$(hash 1)" "$(hash 11)" "$(hash 20)" "$(hash 40)" "$(hash 23)" "$(hash 43)" "$(hash 28)" "$(hash 48)" "$(hash 29)" "$(hash 49)"
  printf 'kernel %s %s\n' k1 n1 k20 n28 k29 n29
} | diff - <(grep -v '^#' "$work/table") || failed=1
exit $failed
