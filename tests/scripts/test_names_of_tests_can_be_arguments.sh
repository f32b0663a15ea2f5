#!/usr/bin/env bash
# CTest runs a test by its name: one that begins with - would be taken for an option, one with ~ * [ or " for a pattern.
set -euo pipefail
found=$(grep -rnE '^ *(TEST_CASE|SCENARIO|TEMPLATE_TEST_CASE)\("([-~*["]|\\")' "$1/tests" --include='*.cpp' || true)
if [ -n "$found" ]; then
  printf '%s\n  begin with a letter or a figure\n' "$found"
  exit 1
fi
