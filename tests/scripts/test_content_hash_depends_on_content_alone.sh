#!/usr/bin/env bash
# The hash is the same at another path and without git, ignores what is built and recorded, and changes with any source.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

copy() {
  mkdir -p "$folder/$1"
  cp -R "$root/scripts" "$folder/$1/"
  (cd "$root" && find kernels db runtime tuner -type f -not -path '*/.*' -print0 | xargs -0 cp --parents -t "$folder/$1")
}
hash_of() { bash "$1/scripts/content_hash.sh"; }
same() { [ "$2" = "$first" ] || { echo "$1: expected $first again, got $2"; exit 1; }; }
differs() { [ "$2" != "$first" ] || { echo "$1: expected another hash than $first"; exit 1; }; }

copy one
copy two/deeper
first=$(hash_of "$folder/one")
[[ $first =~ ^[0-9a-f]{64}$ ]] || { echo "expected one line of 64 hex digits, got: $first"; exit 1; }
same "another path" "$(hash_of "$folder/two/deeper")"
same "from another folder" "$(cd / && hash_of "$folder/one")"

mkdir -p "$folder/one/db/recorded" "$folder/one/build" "$folder/one/tests"
echo x >"$folder/one/db/recorded/new.jsonl"
echo x >"$folder/one/build/object.o"
echo x >"$folder/one/tests/test.cpp"
echo x >"$folder/one/db/some.db-wal"
same "recordings, build output and tests" "$(hash_of "$folder/one")"

echo "// changed" >>"$folder/one/kernels/problem/problem.hpp"
differs "a changed source" "$(hash_of "$folder/one")"
mv "$folder/two/deeper/tuner/workload.hpp" "$folder/two/deeper/tuner/moved.hpp"
differs "a renamed source" "$(hash_of "$folder/two/deeper")"

if command -v git >/dev/null; then
  copy three
  same "before git" "$(hash_of "$folder/three")"
  git -C "$folder/three" init -q
  printf '*.db-wal\n/build/\n*.o\n' >"$folder/three/.gitignore"
  echo x >"$folder/three/runtime/ignored.o"
  same "with git, nothing committed yet" "$(hash_of "$folder/three")"
fi
