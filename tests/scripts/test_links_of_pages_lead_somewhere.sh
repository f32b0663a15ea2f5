#!/usr/bin/env bash
# Links of README, the pages under docs and their neighbours lead to files of this tree; so do the pages that code names.
set -euo pipefail
cd "$1"
status=0
links=0
while IFS=: read -r page link; do
  links=$((links + 1))
  [ -e "$(dirname "$page")/$link" ] || { echo "$page links to $link, which is not there"; status=1; }
done < <(grep -roE --include='*.md' '\]\([^)#]+' ./*.md docs | sed 's/](//' | grep -vE ':https?:' | sort -u)
while IFS=: read -r file page; do
  links=$((links + 1))
  [ -e "$page" ] || { echo "$file names $page, which is not there"; status=1; }
done < <(grep -roE --include='*.[ch]pp' --include='*.h' --include='*.cuh' --include='*.cu' --include='*.sh' --include='*.py' --include='*.txt' \
  '\bdocs/[a-z_0-9/]+\.[a-z]+' kernels db runtime tuner tests scripts docs | sort -u)
[ "$links" -ge 40 ] || { echo "expected at least forty links, found $links: is the pattern right?"; status=1; }
exit "$status"
