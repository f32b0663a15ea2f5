#!/usr/bin/env bash
# scripts/wheel.sh refuses what it cannot build in one line, before it fetches or writes anything.
set -euo pipefail
root=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for arguments in '--arch sparc' '--arch' '--fast'; do
  status=0
  # shellcheck disable=SC2086  # words
  bash "$root/scripts/wheel.sh" $arguments >"$out" 2>&1 || status=$?
  if [ "$status" -ne 2 ] || [ "$(wc -l <"$out")" -ne 1 ] || ! grep -q '^wheel.sh: ' "$out"; then
    echo "wheel.sh $arguments: expected status 2 and one line, got $status and:"
    cat "$out"
    exit 1
  fi
done
