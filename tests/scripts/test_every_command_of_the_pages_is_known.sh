#!/usr/bin/env bash
# scripts/check_pages.sh runs each command of the pages or says why not: it knows all of them, and a new one that it does not know fails.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bash "$root/scripts/check_pages.sh" --list >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
[ "$(grep -c ': left out: ' "$folder/out")" -ge 30 ] || { echo "expected what is left out, with its reason:"; cat "$folder/out"; exit 1; }

page=new
mkdir "$folder/scripts" "$folder/docs"
cp "$root"/scripts/{check_pages,lib}.sh "$folder/scripts/"
cp "$root/README.md" "$folder/"
# shellcheck disable=SC2016  # the page's own
printf '# A page\n\n```\n a figure ─► of it\ntilesmith forget \\\n  --everything      # and why\n```\n\n```python\nnot_a_command()\n```\n' >"$folder/docs/$page.md"
status=0
bash "$folder/scripts/check_pages.sh" --list docs/$page.md >"$folder/out" 2>&1 || status=$?
[ "$status" -ne 0 ] || { echo "expected a new command to fail:"; cat "$folder/out"; exit 1; }
if [ "$(grep -c 'nothing here knows it' "$folder/out")" -ne 1 ] || ! grep -q "^docs/$page.md: tilesmith forget   --everything: nothing" "$folder/out"; then
  echo "expected the one command of the page:"
  cat "$folder/out"
  exit 1
fi
