#!/usr/bin/env bash
# Builds and tests the Conan package (packaging/conan) with the libraries that this machine has: a profile names each of them as the platform's, so
# that nothing of ConanCenter is needed. A nightly check: it builds everything once more, and needs Conan 2.
#
# Usage: check_conan.sh [--install] [--library] [--help]
#   --install   install Conan from PyPI first, into a folder of its own
#   --library   the library alone, without the program
# Environment: TILESMITH_CONAN, the program (default: conan).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install=false options=()
while [ $# -gt 0 ]; do
  case "$1" in
    --install) install=true ;;
    --library) options=(-o "tilesmith/*:tuner=False") ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
conan=${TILESMITH_CONAN:-conan}
if $install; then
  say "installing Conan"
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q 'conan>=2.12' || fail "pip could not install Conan"
  conan=$work/venv/bin/conan
fi
"$conan" --version 2>/dev/null | grep -q 'version 2' || fail "$conan: expected Conan 2; --install takes it from PyPI"
export CONAN_HOME=$work/home

# What Conan calls a library, and what pkg-config calls it.
libraries=(fmt:fmt nlohmann_json:nlohmann_json spdlog:spdlog sqlite3:sqlite3 xxhash:libxxhash zlib:zlib zstd:libzstd cli11:CLI11)
"$conan" profile detect >/dev/null 2>&1 || fail "Conan finds no compiler"
profile=$work/platform
{
  printf 'include(default)\n[settings]\ncompiler.cppstd=gnu20\n[platform_tool_requires]\npkgconf/2.0.0\n[platform_requires]\n'
  for library in "${libraries[@]}"; do
    version=$(pkg-config --modversion "${library#*:}" 2>/dev/null) || fail "pkg-config does not find ${library#*:}; scripts/setup.sh installs what is built with"
    printf '%s/%s\n' "${library%%:*}" "$version"
  done
} >"$profile"
say "conan create, with"
sed -n '/platform_requires/,$p' "$profile"
"$conan" create "$ROOT/packaging/conan" --no-remote -pr:a "$profile" "${options[@]}" -c "tools.cmake.cmake_layout:test_folder=$work/test" -c tools.cmake.cmaketoolchain:user_presets= >"$work/log" 2>&1 || { grep -E 'error|ERROR' "$work/log" | head -n 20 >&2; tail -n 10 "$work/log" >&2; fail "conan create failed"; }
grep -E '^tilesmith [0-9.]+, status names: ' "$work/log" || fail "the test package did not run"
"$conan" list 'tilesmith/*:*' 2>/dev/null | sed -n '2,4p'
