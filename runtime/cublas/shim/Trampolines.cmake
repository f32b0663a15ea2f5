# Writes assembly that forwards every function of a library which the shim does not define itself. A name jumps to its target; that is at first a
# stub, which keeps all arguments, has the target looked up (trampolines.cpp), and goes there. Run with:
#   cmake -DNAMES=<file of names> -DOWN=<source with the shim's own, or empty> -DOUT=<file.S> -P Trampolines.cmake
cmake_minimum_required(VERSION 3.22)
file(STRINGS ${NAMES} names)
set(lines "")
if(OWN)
  file(STRINGS ${OWN} lines)
endif()
set(own "")
foreach(line IN LISTS lines)
  if(line MATCHES "^TILESMITH_(BOTH|BOTH_PLAIN)\\([A-Z_]+, (cublas[A-Za-z0-9_]+)")
    list(APPEND own ${CMAKE_MATCH_2} ${CMAKE_MATCH_2}_64)
  elseif(line MATCHES "^TILESMITH_ENTRY (cublas[A-Za-z0-9_]+)\\(")
    list(APPEND own ${CMAKE_MATCH_1})
  endif()
endforeach()
list(LENGTH own count)
if(OWN AND count LESS 20)
  message(FATAL_ERROR "${OWN}: ${count} functions of the shim's own were found: expected lines 'TILESMITH_BOTH(KIND, NAME)' and 'TILESMITH_ENTRY NAME('")
endif()
foreach(name IN LISTS own)
  if(NOT name IN_LIST names)
    message(FATAL_ERROR "${NAMES} has no ${name}, which ${OWN} defines")
  endif()
endforeach()
if(own)
  list(REMOVE_ITEM names ${own})
endif()

set(forwards "")
set(stubs "")
set(texts "")
set(pointers "")
set(targets "")
set(index 0)
foreach(name IN LISTS names)
  string(APPEND forwards "forward ${name}, ${index}\n")
  string(APPEND stubs "stub ${index}\n")
  string(APPEND texts ".Lname_${index}: .asciz \"${name}\"\n")
  string(APPEND pointers "  .quad .Lname_${index}\n")
  string(APPEND targets "  .quad .Lstub_${index}\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUT} "/* Made by runtime/cublas/shim/Trampolines.cmake. */
#include \"runtime/cublas/shim/trampolines.inc\"
  .text
${forwards}
${stubs}
  .section .rodata.tilesmith_names, \"a\", %progbits
${texts}
  .section .data.rel.ro.tilesmith_names, \"aw\", %progbits
  .balign 8
  .globl tilesmith_cublas_names
  .hidden tilesmith_cublas_names
tilesmith_cublas_names:
${pointers}
  .section .data.tilesmith_targets, \"aw\", %progbits
  .balign 8
  .globl tilesmith_cublas_targets
  .hidden tilesmith_cublas_targets
tilesmith_cublas_targets:
${targets}
  .section .note.GNU-stack, \"\", %progbits
")
