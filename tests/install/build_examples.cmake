# Installs into OUT/prefix, builds the examples against it, and leaves their programs in OUT (OUT/static with STATIC).
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

if(STATIC)
  set(programs ${OUT}/static)
else()
  set(programs ${OUT})
  # From nothing: a file that is no longer installed must not be found.
  file(REMOVE_RECURSE ${PREFIX} ${OUT}/cmake)
  run(${CMAKE_COMMAND} --install ${BUILD} --component tilesmith --prefix ${PREFIX})
endif()

# The programs also look for the library relative to themselves, so that the folder can be moved.
run(${CMAKE_COMMAND} -S ${EXAMPLES} -B ${programs}/cmake -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${PREFIX} ${TOOLCHAIN_ARGUMENTS}
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_C_FLAGS=${SANITIZE_FLAGS} -DCMAKE_CXX_FLAGS=${SANITIZE_FLAGS} -DEXAMPLES_STATIC=${STATIC}
    -DCMAKE_BUILD_RPATH=$ORIGIN/prefix/${LIBDIR} -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=${programs})
run(${CMAKE_COMMAND} --build ${programs}/cmake)
