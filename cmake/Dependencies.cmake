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
endif()

find_path(TILESMITH_CUDA_INCLUDE_FOUND NAMES cuda.h
          HINTS ${TILESMITH_CUDA_INCLUDE} $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include
          PATHS /usr/local/cuda/include /usr/local/cuda/targets/aarch64-linux/include /opt/cuda/include /usr/include)
if(NOT TILESMITH_CUDA_INCLUDE_FOUND)
  message(FATAL_ERROR "cuda.h was not found: install the CUDA Toolkit, or run scripts/setup.sh, which takes it from NVIDIA's wheels")
endif()
