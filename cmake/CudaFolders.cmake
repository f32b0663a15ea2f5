# Where the CUDA headers and NVRTC are. Sets TILESMITH_CUDA_INCLUDE_FOUND (empty if they were not found); run as a
# script it prints that folder, so that scripts/setup.sh and the build look in the same places:
#   cmake [-DTILESMITH_CUDA_INCLUDE=<folder>] -P CudaFolders.cmake
#
# Nothing of the toolkit is linked and nvcc is not used: headers for NVRTC and the driver's types are enough.

# 12.0 is the first release with the tensor-map types that sm_90a kernels take.
set(TILESMITH_CUDA_OLDEST 12000)

set(named "")  # the variable that names a toolkit
if(TILESMITH_CUDA_INCLUDE)
  set(places ${TILESMITH_CUDA_INCLUDE})
elseif(NOT "$ENV{TILESMITH_NO_TOOLKIT}" STREQUAL "" AND NOT "$ENV{TILESMITH_NO_TOOLKIT}" STREQUAL "0")
  set(places "")
else()
  set(named CUDA_HOME)
  if("$ENV{CUDA_HOME}" STREQUAL "")
    set(named CUDA_PATH)
  endif()
  file(GLOB versioned /usr/local/cuda-*)
  list(SORT versioned COMPARE NATURAL ORDER DESCENDING)
  set(places "")
  foreach(toolkit "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda ${versioned} /opt/cuda)
    if(toolkit)
      list(APPEND places ${toolkit}/include)
      file(GLOB targets ${toolkit}/targets/*-linux/include)
      list(APPEND places ${targets})
    endif()
  endforeach()
  list(APPEND places /usr/include)
endif()

set(TILESMITH_CUDA_INCLUDE_FOUND "")
foreach(place IN LISTS places)
  set(complete TRUE)
  foreach(header cuda.h cuda_fp16.h cuda_bf16.h mma.h crt/mma.h)
    if(NOT EXISTS ${place}/${header})
      set(complete FALSE)
    endif()
  endforeach()
  if(complete)
    file(STRINGS ${place}/cuda.h version_line REGEX "^#define CUDA_VERSION +[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+$" version "${version_line}")
    if(version GREATER_EQUAL TILESMITH_CUDA_OLDEST)
      set(TILESMITH_CUDA_INCLUDE_FOUND ${place})
      break()
    endif()
  endif()
endforeach()

# Told, since a toolkit that was named and is not taken may be a typing error.
string(FIND "${TILESMITH_CUDA_INCLUDE_FOUND}" "$ENV{${named}}/" at)
if(NOT "$ENV{${named}}" STREQUAL "" AND NOT at EQUAL 0)
  message(NOTICE "${named} is '$ENV{${named}}': passed over, expected include/cuda.h of CUDA 12.0 or newer there")
endif()

if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${TILESMITH_CUDA_INCLUDE_FOUND}")
endif()
