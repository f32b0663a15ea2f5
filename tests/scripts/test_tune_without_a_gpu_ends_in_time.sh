#!/usr/bin/env bash
# Without a GPU tune.sh bounds both of its steps by the time that is left, replays one recording, and says what to look at.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/scripts" "$folder/db/recorded" "$folder/build/bin"
cp "$root"/scripts/{tune,lib}.sh "$folder/scripts/"
touch "$folder"/db/recorded/{h100,h200}.jsonl.zst
echo 'raise SystemExit(1)' >"$folder/scripts/gpu_info.py"
printf '#!/bin/sh\necho "$*" >>"%s/calls"\n' "$folder" >"$folder/build/bin/tilesmith"
# shellcheck disable=SC2016  # expanded where it runs
printf '#!/bin/sh\necho "timeout $1" >>"%s/calls"\nshift\nexec "$@"\n' "$folder" >"$folder/timeout"
chmod +x "$folder/build/bin/tilesmith" "$folder/timeout"
complain() { echo "$1; it printed:"; cat "$folder/out"; echo "and called:"; cat "$folder/calls"; exit 1; }

# tune_after SECONDS: the limits of both steps, when set-up and build took that long.
tune_after() {
  : >"$folder/calls"
  SECONDS=$1 TILESMITH_BUILD_DIR=$folder/build PATH=$folder:$PATH bash "$folder/scripts/tune.sh" --no-build >"$folder/out" 2>&1 ||
    complain "it failed"
  compiling=$(sed -n 's/^timeout \([0-9]*\)$/\1/p' "$folder/calls")
  replaying=$(sed -n 's/^tune .*--budget \([0-9]*\)s$/\1/p' "$folder/calls")
  [ -n "$compiling" ] || complain "expected a limit for compile"
  [ -n "$replaying" ] || complain "expected a limit for the replay"
}
tune_after 0
[ "$(grep -c '^tune ' "$folder/calls")" -eq 1 ] || complain "expected one replay"
grep -q '^tune .*h200\.jsonl\.zst' "$folder/calls" || complain "expected the H200's recording"
grep -q 'query --db .*/db/recorded/h200\.db$' "$folder/out" || complain "expected a line on what can be looked at"
[ $((compiling + replaying)) -le 300 ] || complain "expected five minutes at most after the build"
whole=$compiling
tune_after 300
[ $((300 + compiling + replaying)) -le 600 ] || complain "expected ten minutes at most with a build of five"
tune_after 2000
[ "$compiling" -lt "$whole" ] || complain "expected a shorter compile step after a slow build"
[ "$compiling" -gt 0 ] || complain "expected some time to compile after a slow build"
[ "$replaying" -gt 0 ] || complain "expected some time to replay after a slow build"
