#!/usr/bin/env bash
# Builds the Debian packages of this tree, for the distribution that this machine runs (Debian 12, Ubuntu 22.04 or 24.04), and has lintian look at
# them. They come to build/packages/: libtilesmith0.1, libtilesmith-dev, tilesmith, tilesmith-cublas, tilesmith-bests.
#
# Usage: packages.sh [--arch amd64|arm64] [--help]
#   --arch ARCH   for this architecture (default: this machine's). arm64 elsewhere is cross-built: apt gets that architecture's libraries beside
#                 this one's, and qemu-user has the program write its own manual pages
# Environment:
#   TILESMITH_CUDA_INCLUDE   folder of CUDA's headers, where CMake does not find them

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/lib_packages.sh
. "$ROOT/scripts/lib_packages.sh"

# Of the packages named, which may end in an architecture, those that are missing.
install_missing() {
  local name missing=()
  for name in "$@"; do is_installed "$name" || missing+=("$name"); done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

main() {
  have dpkg || fail "there is no dpkg here; expected Debian or Ubuntu"
  local native arch
  native=$(dpkg --print-architecture)
  arch=$native
  while [ $# -gt 0 ]; do
    case "$1" in
      --arch)
        [ $# -ge 2 ] || fail "--arch: expected amd64 or arm64 after it"
        arch=$2
        shift
        ;;
      -h | --help) print_help; exit 0 ;;
      *) fail "unknown option $1; see --help" ;;
    esac
    shift
  done
  [[ $arch =~ ^(amd64|arm64)$ ]] || fail "--arch $arch: expected amd64 or arm64"

  local version packaged
  version=$(sed -n 's/^project(tilesmith VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt")
  packaged=$(sed -n '1s/.*(\([0-9.]*\)).*/\1/p' "$ROOT/packaging/debian/changelog")
  [ "$version" = "$packaged" ] || fail "packaging/debian/changelog is of $packaged: expected the version in CMakeLists.txt, $version"

  local libraries=(libfmt-dev libspdlog-dev libsqlite3-dev libxxhash-dev libzstd-dev zlib1g-dev)
  local arguments=()
  install_missing dpkg-dev debhelper lintian fakeroot cmake ninja-build pkg-config libcli11-dev nlohmann-json3-dev
  local cmake_args=${TILESMITH_CUDA_INCLUDE:+-DTILESMITH_CUDA_INCLUDE=$TILESMITH_CUDA_INCLUDE}
  if [ "$arch" != "$native" ]; then
    dpkg --print-foreign-architectures | grep -qx "$arch" || dpkg --add-architecture "$arch" || fail "dpkg does not add $arch; run as root"
    install_missing "crossbuild-essential-$arch" qemu-user-static "${libraries[@]/%/:$arch}"
    have aarch64-linux-gnu-pkg-config || install_missing "pkgconf:$arch"  # where pkg-config does not bring one for each architecture
    arguments=("--host-arch=$arch" --build-profiles=cross)
    cmake_args+=" -DCMAKE_CROSSCOMPILING_EMULATOR=$(command -v qemu-aarch64-static)"
  else
    install_missing "${libraries[@]}"
  fi

  local work=$ROOT/build/packages/$arch
  rm -rf "$work"
  mkdir -p "$work/tilesmith-$version"
  tar -C "$ROOT" --exclude=./build --exclude='./build-*' --exclude='./.[a-z]*' -cf - . | tar -C "$work/tilesmith-$version" -xf -
  cp -R "$ROOT/packaging/debian" "$work/tilesmith-$version/debian"
  say "building for $arch"
  (cd "$work/tilesmith-$version" && TILESMITH_CMAKE_ARGS=$cmake_args DEB_BUILD_OPTIONS="noautodbgsym nocheck parallel=$(nproc)" \
    dpkg-buildpackage --build=binary --no-sign "${arguments[@]}") >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log" >&2; fail "the packages could not be built; the whole of it is in $work/log"; }
  rm -rf "${work:?}/tilesmith-$version"
  say "lintian"
  lintian --fail-on error,warning --tag-display-limit 0 "$work"/*.changes || fail "lintian is not content (above)"
  ls "$work"/*.deb
}

main "$@"
