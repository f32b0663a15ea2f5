#!/usr/bin/env bash
# Files under db/recorded that the help texts, the scripts and the pages name are there.
set -euo pipefail
root=$1
cd "$root"
status=0
named=0
while IFS=: read -r where file; do
  named=$((named + 1))
  [ -e "$file" ] || { echo "$where names $file, which is not there"; status=1; }
done < <(grep -roE 'db/recorded/[A-Za-z0-9_.]*[A-Za-z0-9_]' README.md ARCHITECTURE.md docs/*.md scripts/*.sh tuner/cli/*.cpp examples | sort -u)
[ "$named" -ge 5 ] || { echo "expected at least five names, found $named: is the pattern right?"; status=1; }
exit "$status"
