#!/usr/bin/env bash
# What `tilesmith completion` and `tilesmith manual` print: bash completes by it, the shells that are here accept it, groff finds no fault in
# the pages, and every option of every --help is in both.
set -euo pipefail
program=$2/bin/tilesmith
[ -x "$program" ] || { echo "skipped: no $program"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "$*"; exit 1; }

for shell in bash zsh fish; do
  "$program" completion $shell >"$work/$shell"
  if command -v $shell >"$work/where"; then $shell -n "$work/$shell" || wrong "$shell does not accept its script"; fi
done
said=$("$program" completion csh 2>&1) && wrong "csh was taken"
[ "$said" = "tilesmith completion: SHELL csh: expected bash, zsh or fish" ] || wrong "csh: $said"
said=$("$program" manual tunes 2>&1) && wrong "a page of no command was printed"
[[ $said == "tilesmith manual: COMMAND tunes: expected one of tilesmith, tune, "* ]] || wrong "tunes: $said"

# completes EXPECTED WORD...: the last word may be empty, or the beginning of one.
# shellcheck disable=SC1091
. "$work/bash"
completes() {
  local expected=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _tilesmith 2>"$work/complaints" || true  # where nothing is being completed, compopt fails
  [ "${COMPREPLY[*]}" = "$expected" ] || wrong "'$*' is completed to '${COMPREPLY[*]}', expected '$expected'"
}
completes "query" tilesmith q
completes "--version" tilesmith --v
completes "--only-finalists" tilesmith tune --only
completes "NT" tilesmith tune --trans NT
completes "f16f32,bf16f32bf16" tilesmith verify --type f16f32,bf16f32b
completes "llama3-8b" tilesmith tune --workload = ll
completes "--by-name" tilesmith run --by
completes "12 13" tilesmith run --by-name ""
completes "" tilesmith tune --budget 1
completes "" tilesmith run --db x -- --by

commands=$("$program" completion bash | sed -n "s/^    '') words='\(.*\)' ;;/\1/p")
for command in tilesmith $commands; do
  [[ $command != -* ]] || continue
  help=("$command")
  [ "$command" != tilesmith ] || help=()
  "$program" manual "$command" >"$work/page"
  sed 's/\\-/-/g; s/\\f[BIR]//g' "$work/page" >"$work/text"
  for option in $("$program" "${help[@]}" --help | grep -oE '^  (-[a-z]|--)[^ {]*' | tr ',' ' '); do
    grep -q -- "^.*$option" "$work/text" || wrong "the page of $command does not have $option"
    [[ $option != --* ]] || grep -q -- "$option" "$work/bash" || wrong "the completion of $command does not have $option"
    [[ $option != --* ]] || grep -q -- "-l ${option#--}" "$work/fish" || wrong "fish's completion of $command does not have $option"
  done
  if command -v groff >"$work/where"; then
    said=$(groff -man -ww -z "$work/page" 2>&1)
    [ -z "$said" ] || wrong "groff of $command: $said"
  fi
done
