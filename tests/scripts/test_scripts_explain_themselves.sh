#!/usr/bin/env bash
# Each script has --help, refuses an unknown option with one line and status 2, and works from any folder.
set -euo pipefail
root=$1
cd /
for script in "$root"/scripts/*.sh; do
  [[ $(basename "$script") != lib*.sh ]] || continue  # sourced, never run
  help=$(bash "$script" --help) || { echo "$script --help: exit status $?"; exit 1; }
  [[ $help == *[Uu]sage* ]] || { echo "$script --help does not say how it is used"; exit 1; }
  status=0
  errors=$(bash "$script" --no-such-option 2>&1 >/dev/null) || status=$?
  [ "$status" -eq 2 ] || { echo "$script --no-such-option: exit status $status, expected 2"; exit 1; }
  [ "$(wc -l <<<"$errors")" -eq 1 ] || { echo "$script --no-such-option: expected one line, got: $errors"; exit 1; }
done
