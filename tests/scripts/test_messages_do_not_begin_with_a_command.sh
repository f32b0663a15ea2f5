#!/usr/bin/env bash
# The program puts "tilesmith COMMAND: " before what a command throws. A message that begins with a command's name would say it twice.
set -euo pipefail
root=$1
commands=$(grep -rhoE 'add_subcommand\("[a-z]+"' "$root/tuner/cli" | sed 's/.*"\([a-z]*\)"/\1/' | paste -sd '|')
[ -n "$commands" ] || { echo "no command was found in tuner/cli"; exit 1; }
if grep -rnE "Error\((fmt::format\()?\"(tilesmith )?($commands): " "$root/tuner" "$root/runtime" "$root/db" "$root/kernels"; then
  echo "expected messages without the command's name: program.cpp puts it before them"
  exit 1
fi
