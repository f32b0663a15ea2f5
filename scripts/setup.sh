#!/usr/bin/env bash
# Gets a machine ready and builds Tilesmith: installs the distribution's packages that are missing (Debian, Ubuntu),
# finds the CUDA Toolkit or takes NVRTC and headers from NVIDIA's Python wheels, configures and builds.
# Asks nothing; does nothing that is already done. The other scripts call it.
#
# Usage: setup.sh [--target NAME]... [--no-build] [--help]
#   --target NAME   build only this target (default: all)
#   --no-build      install and configure, but do not build
# Environment:
#   TILESMITH_BUILD_DIR     build folder (default: build/release)
#   TILESMITH_CMAKE_ARGS    more arguments for CMake, separated by spaces
#   TILESMITH_NO_TOOLKIT=1  ignore an installed CUDA Toolkit and use the wheels
#   TILESMITH_INSTALL_BROWSER=1  also install Chromium, for the test that photographs the report's page, where the
#                           distribution has it as a package; without one that test is skipped
#   TILESMITH_INSTALL_SSHD=1     also install Debian's openssh-server, for the test of boards that ssh reaches; without sshd it is skipped
#   TILESMITH_INSTALL_LINTERS=1  also install what scripts/lint.sh asks: shellcheck and clang-format
#   CUDA_HOME               a CUDA Toolkit in an unusual place

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/lib_packages.sh
. "$ROOT/scripts/lib_packages.sh"

WHEEL_DIR=$ROOT/build/cuda-wheels

# command=package; pkg-config and the headers of the libraries are known to dpkg only.
TOOLS=("${CXX:-g++}=g++" 'cmake=cmake' 'ninja=ninja-build' 'pkg-config=pkg-config' 'python3=python3')
LIBRARIES=(libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev libsqlite3-dev libzstd-dev libxxhash-dev zlib1g-dev catch2 python3-pytest python3-numpy)

missing_packages() {
  local entry
  for entry in "${TOOLS[@]}"; do
    have "${entry%%=*}" || echo "${entry#*=}"
  done
  if have dpkg-query; then
    for entry in "${LIBRARIES[@]}"; do
      is_installed "$entry" || echo "$entry"
    done
  fi
}

ensure_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}"; fi
}

# Only a test wants it: what fails here is a warning.
ensure_browser() {
  [ "${TILESMITH_INSTALL_BROWSER:-0}" = 1 ] || return 0
  if have chromium || have chromium-browser || have google-chrome; then return 0; fi
  (install_packages chromium) || warn "no browser: the test that photographs the report's page will be skipped"
}

ensure_linters() {
  [ "${TILESMITH_INSTALL_LINTERS:-0}" = 1 ] || return 0
  if have shellcheck && have clang-format; then return 0; fi
  (install_packages shellcheck clang-format) || warn "no shellcheck and clang-format: scripts/lint.sh will skip what they check"
}

ensure_sshd() {
  [ "${TILESMITH_INSTALL_SSHD:-0}" = 1 ] || return 0
  if PATH=$PATH:/usr/sbin command -v sshd >/dev/null; then return 0; fi
  (install_packages openssh-server openssh-client) || warn "no sshd: the test of boards that ssh reaches will be skipped"
}

# Prints the include folder of a toolkit that has NVRTC too; nothing if there is none.
find_toolkit() {
  local include
  include=$(cmake -P "$ROOT/cmake/CudaFolders.cmake")
  [ -n "$include" ] || return 0
  local lib
  for lib in "$include"/../lib*/libnvrtc.so* "$include"/../lib/*/libnvrtc.so* "$include"/../../../lib*/libnvrtc.so*; do
    if [ -e "$lib" ]; then
      echo "$include"
      return
    fi
  done
  if { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep -q 'libnvrtc\.so'; then echo "$include"; fi
}

# The wheels to take, by the CUDA release that the driver knows: a newer NVRTC could make cubins that it cannot load.
# Without a GPU: 12.6, whose cubins every supported driver loads. cuBLAS (hundreds of MB) is only a peer to time against.
wanted_wheels() {
  local cuda=12.6 gpu=false
  if have_gpu; then
    gpu=true
    cuda=$(python3 "$ROOT/scripts/gpu_info.py" | sed 's/.*"cuda_driver": "\([0-9.]*\)".*/\1/')
  fi
  case "${cuda%%.*}" in
    12)
      echo 'nvidia-cuda-nvrtc-cu12==12.6.*' 'nvidia-cuda-runtime-cu12==12.6.*' 'nvidia-cuda-nvcc-cu12==12.6.*'
      if $gpu; then echo 'nvidia-cublas-cu12==12.6.*'; fi
      ;;
    [0-9] | 1[01]) fail "the GPU's driver knows CUDA $cuda; expected 12.0 or newer: update the driver" ;;
    *)
      echo 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*'
      if $gpu; then echo 'nvidia-cublas==13.0.*'; fi
      ;;
  esac
}

ensure_wheels() {
  local wanted
  wanted=$(wanted_wheels | tr '\n' ' ') || exit 2
  # shellcheck disable=SC2086  # a list of words
  take_cuda_wheels "$WHEEL_DIR" -- $wanted
}

main() {
  local build=true targets=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --target)
        [ $# -ge 2 ] || fail "--target: expected a name after it"
        targets+=(--target "$2")
        shift
        ;;
      --no-build) build=false ;;
      -h | --help) print_help; exit 0 ;;
      *) fail "unknown option $1; see --help" ;;
    esac
    shift
  done

  ensure_packages
  ensure_browser
  ensure_sshd
  ensure_linters
  local include wheels=""
  include=$(find_toolkit)
  if [ -z "$include" ]; then
    ensure_wheels
    wheels=$WHEEL_DIR
    include=$WHEEL_DIR/include
  fi

  cd "$ROOT"
  mkdir -p "$BUILD_DIR"
  local log=$BUILD_DIR/configure.log
  say "configuring $BUILD_DIR (CUDA headers: $include)"
  # shellcheck disable=SC2086  # a list of words
  if ! cmake --preset release -B "$BUILD_DIR" -DTILESMITH_CUDA_INCLUDE="$include" -DTILESMITH_WHEEL_DIR="$wheels" \
    ${TILESMITH_CMAKE_ARGS:-} >"$log" 2>&1; then
    cat "$log" >&2
    fail "CMake could not configure $BUILD_DIR (above)"
  fi
  if $build; then
    say "building"
    cmake --build "$BUILD_DIR" "${targets[@]}"
  fi
}

main "$@"
