#!/usr/bin/env bash
# Prints one line: a hash (SHA-256) over the content of kernels/, db/ (without db/recorded), runtime/ and tuner/.
# Two checkouts with the same files there print the same line, wherever they lie and whatever was built in them.
# Usage: content_hash.sh [--help]

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case "${1:-}" in
  "") ;;
  -h | --help) print_help; exit 0 ;;
  *) fail "unknown option $1; expected --help or nothing" ;;
esac
cd "$ROOT"
export LC_ALL=C

# With git: tracked files and new ones that are not ignored. Without (an archive, a copied tree): all but hidden files
# and what the ignore list names.
if have git && [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$ROOT" ]; then
  git ls-files --cached --others --exclude-standard -- kernels db runtime tuner
else
  find kernels db runtime tuner -type f -not -path '*/.*' -not -name '*.db-wal' -not -name '*.db-shm'
fi |
  grep -v '^db/recorded/' | sort -u |
  while IFS= read -r file; do
    if [ -f "$file" ]; then printf '%s\n' "$file"; fi
  done |
  xargs -rd '\n' sha256sum -- |
  sha256sum | cut -d ' ' -f 1
