#!/usr/bin/env bash
# Compares the machine code that two versions of the tree make of every recorded candidate, on the host: no GPU is needed. Where code and
# launches are equal, the record may keep its time: the table that is written gives it the new version's hashes (tilesmith renew --by TABLE).
#
# Usage: same_code.sh OLD --db FILE [--db FILE]... [--new TREE] [--out TABLE] [--work FOLDER] [--sample N]
#   OLD            a commit, which is built in FOLDER/old; or the folder of a tree that is built (build/release)
#   --db FILE      a database whose candidates are compared
#   --new TREE     the folder of the other tree, which is built (default: this one)
#   --out TABLE    the table (default: FOLDER/table)
#   --work FOLDER  what was compiled before is kept here (default: build/same_code)
#   --sample N     compile every Nth kernel alone, by its candidates' order: a quick look while you work
# What differs is listed, with registers and spills. Exit status 0 if nothing does, 1 if something does.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

old='' new=$ROOT table='' work=$ROOT/build/same_code sample=1 databases=()
while [ $# -gt 0 ]; do
  case "$1" in
    --db | --new | --out | --work | --sample)
      [ $# -ge 2 ] || fail "$1: expected a value after it"
      case "$1" in --db) databases+=("$2") ;; --new) new=$2 ;; --out) table=$2 ;; --work) work=$2 ;; *) sample=$2 ;; esac
      shift
      ;;
    -h | --help) print_help; exit 0 ;;
    -*) fail "unknown option $1; see --help" ;;
    *) [ -z "$old" ] || fail "$1: expected one OLD"; old=$1 ;;
  esac
  shift
done
[ -n "$old" ] || fail "expected a commit or a folder as OLD; see --help"
[ ${#databases[@]} -gt 0 ] || fail "expected --db FILE; see --help"
[[ $sample =~ ^[1-9][0-9]*$ ]] || fail "--sample $sample: expected a whole number above 0"
mkdir -p "$work"
work=$(cd "$work" && pwd)
# The CUDA Toolkit has it, in a package of its own; else NVIDIA's wheel does.
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:$work/nvdisasm/nvidia/cu13/bin
have nvdisasm || python3 -m pip install -q --no-deps --target "$work/nvdisasm" nvidia-cuda-nvdisasm || true
have nvdisasm || fail "nvdisasm was not found; expected the CUDA Toolkit's bin folder on the PATH, or pip"

if [ ! -d "$old" ]; then
  commit=$(git -C "$ROOT" rev-parse --verify --quiet "$old^{commit}") || fail "$old: no commit and no folder"
  if [ ! -d "$work/old" ]; then git -C "$ROOT" worktree add --detach "$work/old" "$commit" >/dev/null; fi
  git -C "$work/old" checkout --quiet --detach "$commit"
  old=$work/old
  say "building $commit"
  TILESMITH_BUILD_DIR=$old/build/release "$old/scripts/setup.sh" --target tilesmith
fi

# plans_of TREE FOLDER: what its program makes of each database's candidates.
plans_of() {
  local program=$1/build/release/bin/tilesmith folder=$2 db
  [ -x "$program" ] || fail "$program: no such program; build the tree first (scripts/setup.sh)"
  for db in "${databases[@]}"; do
    "$program" renew --db "$db" --write-plans "$folder" --sample "$sample" >/dev/null
    mv "$folder/plans.tsv" "$folder/$(basename "$db").tsv"
  done
}
say "compiling what the old tree makes of the records"
plans_of "$old" "$work/of_old"
say "compiling what the new tree makes of them"
plans_of "$new" "$work/of_new"
exec python3 "$ROOT/scripts/same_code.py" --out "${table:-$work/table}" "$work/of_old" "$work/of_new" "${databases[@]}"
