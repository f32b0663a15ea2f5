# Compiles and links the C example by hand, with the flags that the installed tilesmith.pc gives.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs tilesmith OUTPUT_VARIABLE flags RESULT_VARIABLE status
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "pkg-config does not find tilesmith")
endif()
separate_arguments(flags UNIX_COMMAND "${flags}")
file(MAKE_DIRECTORY ${OUT}/pkg-config)
run(${C_COMPILER} -std=c99 ${SANITIZE_FLAGS} ${EXAMPLES}/gemm_c.c -o ${OUT}/pkg-config/gemm_c ${flags} -lm -ldl
    -Wl,-rpath,${PREFIX}/${LIBDIR})
execute_process(COMMAND ${OUT}/pkg-config/gemm_c RESULT_VARIABLE status ERROR_VARIABLE said)
if(NOT status EQUAL 2 OR NOT said MATCHES "^error: expected a database")
  message(FATAL_ERROR "gemm_c without arguments ended with ${status}: ${said}")
endif()
