# Installs each component into an empty prefix of its own, and all of them into one: what each is for is there, and the program that was
# installed finds the bests and the recording that ship beside it.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
set(tilesmith include/tilesmith/gemm.hpp include/tilesmith/tilesmith.h ${LIBDIR}/libtilesmith.so ${LIBDIR}/libtilesmith.a
    ${LIBDIR}/cmake/tilesmith/tilesmithConfig.cmake ${LIBDIR}/pkgconfig/tilesmith.pc ${LIBDIR}/libtilesmith-cublas12.so
    ${LIBDIR}/tilesmith-cublas13/libcublas.so.13 ${LIBDIR}/tilesmith-cublaslt12/libcublasLt.so.12)
set(overnight bin/tilesmith share/man/man1/tilesmith.1 share/man/man1/tilesmith-tune.1 share/man/man1/tilesmith-query.1
    share/bash-completion/completions/tilesmith share/zsh/site-functions/_tilesmith share/fish/vendor_completions.d/tilesmith.fish
    share/tilesmith/scripts/overnight_orin.sh share/tilesmith/scripts/lib.sh share/tilesmith/systemd/tilesmith-overnight.service)
set(bests share/tilesmith/bests/h100.db share/tilesmith/bests/h200.db share/tilesmith/recordings/h100.jsonl.zst
    share/tilesmith/recordings/h200.jsonl.zst)

function(expect prefix)
  foreach(file IN LISTS ARGN)
    if(NOT EXISTS ${prefix}/${file})
      message(FATAL_ERROR "${prefix}: expected ${file} there")
    endif()
  endforeach()
endfunction()

file(REMOVE_RECURSE ${OUT})
foreach(component tilesmith overnight bests)
  run(${CMAKE_COMMAND} --install ${BUILD} --component ${component} --prefix ${OUT}/${component})
  expect(${OUT}/${component} ${${component}})
endforeach()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${OUT}/whole)
expect(${OUT}/whole ${tilesmith} ${overnight} ${bests})

# As after `apt install` on a machine of nobody's: no database, no GPU.
if(NOT EMULATED)
  file(MAKE_DIRECTORY ${OUT}/home)
  set(installed ${CMAKE_COMMAND} -E env --unset=TILESMITH_DB --unset=XDG_DATA_HOME HOME=${OUT}/home CUDA_VISIBLE_DEVICES= ${OUT}/whole/bin/tilesmith)
  execute_process(COMMAND ${installed} query --type f16f32 --trans NN --shape 4096 OUTPUT_VARIABLE table ERROR_VARIABLE said RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT table MATCHES "f16f32  NN +4096  4096  4096" OR NOT said MATCHES "whole/share/tilesmith/bests/h200.db\n$")
    message(FATAL_ERROR "query: expected the bests that ship, and a line that says so, got ${status}: ${table}${said}")
  endif()
  run(${installed} tune --replay h100 --type bf16f32 --shape 4096 --max-candidates 5 --db ${OUT}/demo.db)
  run(${installed} report --db ${OUT}/demo.db --out ${OUT}/report.html)
  file(READ ${OUT}/report.html page)
  if(NOT page MATCHES "1 problem tuned on NVIDIA H100")
    message(FATAL_ERROR "${OUT}/report.html: expected what the replay found")
  endif()
endif()
file(REMOVE_RECURSE ${OUT})
