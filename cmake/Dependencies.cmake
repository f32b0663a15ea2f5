# Libraries from the distribution, and the CUDA headers (from the toolkit or NVIDIA's wheels).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
if(TILESMITH_BUILD_TUNER)
  find_package(CLI11 REQUIRED)
  pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/CudaFolders.cmake)
if(NOT TILESMITH_CUDA_INCLUDE_FOUND)
  if(TILESMITH_CUDA_INCLUDE)
    message(FATAL_ERROR "TILESMITH_CUDA_INCLUDE=${TILESMITH_CUDA_INCLUDE}: expected cuda.h, cuda_fp16.h, cuda_bf16.h, "
                        "mma.h and crt/mma.h of CUDA 12.0 or newer there")
  endif()
  message(FATAL_ERROR "The headers of CUDA 12.0 or newer were not found: install the CUDA Toolkit, or run "
                      "scripts/setup.sh, which takes them from NVIDIA's wheels")
endif()
message(STATUS "CUDA headers: ${TILESMITH_CUDA_INCLUDE_FOUND}")
