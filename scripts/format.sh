#!/usr/bin/env bash
# Formats the C++ sources by .clang-format, with the clang-format that Debian 12 and Ubuntu 22.04 have: other versions format differently.
#
# Usage: format.sh [--check] [--help]
#   --check   change nothing; name the files that are not formatted, and fail if there are any

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
VERSION=14

check=()
case "${1:-}" in
  "") ;;
  --check) check=(--dry-run --Werror --ferror-limit=1) ;;
  -h | --help) print_help; exit 0 ;;
  *) fail "unknown option $1; expected --check, --help or nothing" ;;
esac
program=''
for name in "clang-format-$VERSION" clang-format; do
  if have "$name" && "$name" --version | grep -q "version $VERSION\."; then program=$name; break; fi
done
if [ -z "$program" ]; then
  [ ${#check[@]} -eq 0 ] || { warn "clang-format $VERSION is not installed: formatting is not checked"; exit 0; }
  fail "clang-format $VERSION was not found; expected the package clang-format of Debian 12 or Ubuntu 22.04"
fi
cd "$ROOT"
find kernels db runtime tuner tests examples -name '*.[ch]pp' -print0 |
  xargs -0 -P "$(nproc)" -n 40 "$program" "${check[@]:--i}"
