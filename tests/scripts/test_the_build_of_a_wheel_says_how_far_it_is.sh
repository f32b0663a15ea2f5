#!/usr/bin/env bash
# Of the minutes that wheel.sh builds, each tenth is a line; the failure of the build is wheel.sh's.
set -euo pipefail
root=$1
eval "$(sed -n '/^tenths()/,/^}/p' "$root/scripts/wheel.sh")"
say() { echo "$*"; }
lines=$(for ((i = 1; i <= 40; ++i)); do printf '  [%d/40] Building CXX object a.o\nIn file included from b[3]\n' $i; done | tenths)
[ "$(wc -l <<<"$lines")" -eq 10 ] || { echo "expected ten lines, got:"; echo "$lines"; exit 1; }
grep -q '^built 40 of 40 files' <<<"$lines" || { echo "expected the last to be of all files, got:"; echo "$lines"; exit 1; }
[ -z "$(echo 'nothing of files' | tenths)" ] || { echo "expected no line where nothing was built"; exit 1; }
if (false | tee /dev/null | tenths); then echo "expected the status of the build"; exit 1; fi
