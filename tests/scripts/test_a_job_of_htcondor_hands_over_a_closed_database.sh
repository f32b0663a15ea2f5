#!/usr/bin/env bash
# scripts/htcondor/tune_shard.sh as HTCondor calls it: a tuner that is killed is started again and goes on, an eviction ends it cleanly, and what is handed
# over is one file that needs no log beside it. The next start takes it up.
set -euo pipefail
ROOT=$1
tilesmith=$2/bin/tilesmith
# shellcheck source=scripts/lib_fleet.sh
. "$ROOT/scripts/lib_fleet.sh"
work=$(mktemp -d)
pids=()
end() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end EXIT
die() {
  echo "$*"
  tail -n 20 "$work"/*.out 2>/dev/null || true
  exit 1
}
unset SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT TILESMITH_DB
export CUDA_VISIBLE_DEVICES='' TILESMITH=$work/program
ends() { ends_of "$1" | tr '\n' ' '; }
some_are_kept() { has_more_than "$1" work/tuned.db; }
eventually() { until_true 60 "$@" || die "not within a minute: $*"; }
is_another() { [ "$(cat "$work/pid")" != "$1" ]; }

record_problems "$work" 56
# shellcheck disable=SC2016  # the program expands it
printf '#!/bin/sh\n[ "$1" != tune ] || echo $$ >%q\nexec %q "$@"\n' "$work/pid" "$tilesmith" >"$work/program"
chmod +x "$work/program"
job=(bash "$ROOT/scripts/htcondor/tune_shard.sh" 1/2 shard-1.db --workload w.txt --replay "$work/recording.jsonl.zst" --strategy exhaustive)
mkdir "$work/first" "$work/second"
cp "$work/w.txt" "$work/first"
cd "$work/first"
"${job[@]}" >"$work/first.out" 2>&1 &
script=$!
pids+=("$script")
eventually some_are_kept 1
tuner=$(cat "$work/pid")
pids+=("$tuner")
kill -9 "$tuner"
eventually is_another "$tuner"
pids+=("$(cat "$work/pid")")
eventually some_are_kept "$(count work/tuned.db)"
kill -TERM "$script"
status=0
wait "$script" || status=$?
[ "$status" -eq 143 ] || die "evicted: expected status 143, not $status"
grep -q 'the tuner ended with status 137' "$work/first.out" || die "it is not told that the tuner was killed"
[ "$(ends shard-1.db)" = " interrupted " ] || [ "$(ends shard-1.db)" = '"" interrupted ' ] || die "the runs ended otherwise: '$(ends shard-1.db)'"
[ ! -e shard-1.db-wal ] || die "a log lies beside what is handed over"
kept=$(count shard-1.db)
[ "$kept" -gt 1 ] || die "nothing is handed over"

# As HTCondor starts it elsewhere.
cp "$work/w.txt" shard-1.db "$work/second"
cd "$work/second"
"${job[@]}" --budget 5s >"$work/second.out" 2>&1 || die "the next start: exit status $?"
[ "$(count shard-1.db)" -ge "$kept" ] || die "the next start forgot what was known"
grep -q "^shard-1.db: $kept entries added" "$work/second.out" || die "the next start did not take up what was handed over"
[[ $(ends shard-1.db) == *" interrupted "* ]] || die "the next start knows nothing of the runs before: '$(ends shard-1.db)'"

refused() {
  local status=0 said
  said=$("${@:2}" 2>&1) || status=$?
  if [ "$status" -ne 2 ] || [ "$said" != "tune_shard.sh: $1" ]; then die "status $status, '$said', expected '$1'"; fi
}
shard=$ROOT/scripts/htcondor/tune_shard.sh
refused "expected I/N, a database and options of tune; see --help" bash "$shard" 1/2
refused "0/2: expected a shard, such as 3/8" bash "$shard" 0/2 a.db
refused "a/b.db: expected the name of a database here, such as shard-3.db" bash "$shard" 1/2 a/b.db
refused "--db=x: each job is given its own; leave it out" bash "$shard" 1/2 a.db --db=x
refused "/no/program: no such program; name it in TILESMITH" env TILESMITH=/no/program bash "$shard" 1/2 a.db
