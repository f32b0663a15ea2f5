#!/usr/bin/env bash
# Proves on another machine what a Jetson needs: builds program, library, shims and tests for aarch64 with the distribution's compiler and arm64
# libraries, runs the tests under qemu-user, and compiles kernels of every family for sm_87 with NVIDIA's own NVRTC for aarch64, of CUDA 12.6
# (JetPack 6) and 13.2 (JetPack 7.2), in worker processes as on the device. Debian and Ubuntu. The arm64 libraries are unpacked in build/cross/,
# not installed; what is built is in build/aarch64/.
#
# Usage: cross_aarch64.sh [--quick] [--no-tests] [--no-kernels] [--max-configs N] [--help]
#   --quick          the part that .ci/run does: the program, the test programs that are built quickest, kernels of two type pairs by NVRTC 12.6
#   --no-tests       neither build nor run tests
#   --no-kernels     compile no kernels
#   --max-configs N  kernels of each family and type pair (default: 1); under qemu each takes some ten times as long as without
# Environment:
#   TILESMITH_CMAKE_ARGS   more arguments for CMake, separated by spaces
# Exit status: 0 all is well, 1 a test or a kernel failed, 2 bad input or something could not be built, 77 what has to be downloaded is not to be had.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/lib_packages.sh
. "$ROOT/scripts/lib_packages.sh"

BUILD=$ROOT/build/aarch64
CROSS=$ROOT/build/cross
NOT_TO_BE_HAD=77
# command=package
TOOLS=('aarch64-linux-gnu-g++=g++-aarch64-linux-gnu' 'qemu-aarch64-static=qemu-user-static' 'cmake=cmake' 'ninja=ninja-build' 'pkg-config=pkg-config'
  'python3=python3')
LIBRARIES=(libc6-dev libstdc++6 libfmt-dev libspdlog-dev nlohmann-json3-dev libcli11-dev libsqlite3-dev libzstd-dev libxxhash-dev zlib1g-dev catch2)
# CUDA release=wheels
CUDAS=('12.6=nvidia-cuda-nvrtc-cu12==12.6.* nvidia-cuda-runtime-cu12==12.6.* nvidia-cuda-nvcc-cu12==12.6.*'
  '13.2=nvidia-cuda-nvrtc==13.2.* nvidia-cuda-runtime==13.2.* nvidia-cuda-crt==13.2.*')
# For --quick: rules and estimates, worker processes, what is installed, and the shims, which have assembly of their own.
QUICK_TARGETS=(tilesmith tilesmith_shared tilesmith_static test_kernels test_workers tilesmith_cublas{12,13} tilesmith_cublas{12,13}_whole tilesmith_cublaslt{12,13}_whole
  cublas_shim_programs)
QUICK_TESTS='^kernels:|^install: |^cublas shim: ?programs|TILESMITH_WORKER_PROGRAM|very program|^workers: ?a (worker answers|child that ends|corrupt frame|hanging child)'

ensure_tools() {
  local entry missing=()
  for entry in "${TOOLS[@]}"; do
    have "${entry%%=*}" || missing+=("${entry#*=}")
  done
  if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}"; fi
}

# The arm64 libraries with the loader and the C library that they were built for.
ensure_sysroot() {
  local sysroot=$CROSS/sysroot fresh=$CROSS/sysroot.new get=() deb
  if [ "$(cat "$sysroot/complete" 2>/dev/null)" = "${LIBRARIES[*]}" ]; then return; fi
  say "downloading the distribution's arm64 libraries"
  mkdir -p "$CROSS"
  set_apt_of arm64 "$CROSS/apt"
  rm -rf "$fresh" "$CROSS"/apt/archives/*.deb
  "${get[@]}" install -y --download-only --no-install-recommends "${LIBRARIES[@]}" >"$CROSS/apt/install.log" 2>&1 ||
    fail "apt-get could not download ${LIBRARIES[*]} for arm64: $(tail -n 1 "$CROSS/apt/install.log")"
  mkdir -p "$fresh"/usr/{bin,lib,sbin}
  ln -s usr/bin usr/lib usr/sbin "$fresh/"
  for deb in "$CROSS"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$fresh"
  done
  echo "${LIBRARIES[*]}" >"$fresh/complete"
  rm -rf "$sysroot"
  mv "$fresh" "$sysroot"
}

# ensure_cudas ENTRY...: of CUDAS.
ensure_cudas() {
  local entry
  for entry in "$@"; do
    # shellcheck disable=SC2086  # a list of words
    take_cuda_wheels "$CROSS/cuda-${entry%%=*}" --only-binary=:all: --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 -- ${entry#*=}
  done
}

# build [TARGET...]
build() {
  local cuda=$CROSS/cuda-12.6
  say "configuring $BUILD"
  mkdir -p "$BUILD"
  # shellcheck disable=SC2086  # a list of words
  (cd "$ROOT" && cmake --preset aarch64 -DTILESMITH_CUDA_INCLUDE="$cuda/include" -DTILESMITH_WHEEL_DIR="$cuda" ${TILESMITH_CMAKE_ARGS:-}) >"$BUILD/configure.log" 2>&1 ||
    { cat "$BUILD/configure.log" >&2; fail "CMake could not configure $BUILD (above)"; }
  say "building for aarch64"
  cmake --build "$BUILD" ${1+--target "$@"} || fail "$BUILD could not be built (above)"
}

# Left out: tests of scripts and of Python run on the machine that builds, and those of a GPU need one. The rest of the list takes minutes under qemu.
run_tests() {
  local which=$1 names=('^scripts: ' '^python: ' 'cublas shim: NVIDIA')
  mapfile -t -O "${#names[@]}" names < <(grep -v '^#' "$ROOT/tests/slow_under_qemu.txt")
  say "tests under qemu-user (left out: those of scripts, Python and GPUs, and what tests/slow_under_qemu.txt names)"
  local IFS='|'
  ctest --test-dir "$BUILD" --output-on-failure --timeout 600 -j "$(($(nproc) + 1))" -LE gpu -R "$which" -E "${names[*]}|_NOT_BUILT"
}

# compile_kernels TYPES CONFIGS ENTRY...: every family, in worker processes; the same kernels by the NVRTC of each entry of CUDAS.
compile_kernels() {
  local types=$1 configs=$2 cuda database arguments
  shift 2
  for cuda in "${@%%=*}"; do
    database=$CROSS/kernels-$cuda.db
    rm -f "$database"*
    arguments=(compile --arch sm_87 --type "$types" --trans NN --shape 64 --shape 1x64x64 --max-configs "$configs" --db "$database")
    say "kernels for sm_87 by the aarch64 NVRTC $cuda"
    env -u CUDA_HOME -u CUDA_PATH TILESMITH_NVRTC="$(echo "$CROSS/cuda-$cuda"/lib/libnvrtc.so.*)" TILESMITH_CUDA_INCLUDE="$CROSS/cuda-$cuda/include" \
      "$BUILD/bin/tilesmith" "${arguments[@]}" || return 1
    python3 "$ROOT/scripts/compiled_families.py" "$database" "$cuda" simt wmma mma gemv ffma || return 1
  done
}

main() {
  local quick=false tests=true kernels=true configs=1
  while [ $# -gt 0 ]; do
    case "$1" in
      --quick) quick=true ;;
      --no-tests) tests=false ;;
      --no-kernels) kernels=false ;;
      --max-configs)
        [[ ${2:-} =~ ^[1-9][0-9]{0,4}$ ]] || fail "--max-configs ${2:-}: expected a number above 0"
        configs=$2
        shift
        ;;
      -h | --help) print_help; exit 0 ;;
      *) fail "unknown option $1; see --help" ;;
    esac
    shift
  done

  local targets=() which=. types=all cudas=("${CUDAS[@]}") status=0
  if ! $tests; then targets=(tilesmith tilesmith_shared); fi
  if $quick; then
    types=f16f32,f32f32
    cudas=("${CUDAS[0]}")
    which=$QUICK_TESTS
    if $tests; then targets=("${QUICK_TARGETS[@]}"); fi
  fi
  (ensure_tools && ensure_sysroot && ensure_cudas "${cudas[@]}") || exit $NOT_TO_BE_HAD
  build ${targets[@]+"${targets[@]}"}
  if $tests; then run_tests "$which" || status=1; fi
  if $kernels; then compile_kernels "$types" "$configs" "${cudas[@]}" || status=1; fi
  [ "$status" -eq 0 ] || warn "something failed for aarch64 (above)"
  exit "$status"
}

main "$@"
