#!/usr/bin/env bash
# A shard of a workload as a job of HTCondor. The tuner works on a database in the job's own folder. At its end, whatever that is, all it knows is
# put into one file, closed and whole, for HTCondor to take away: a database that is copied while its log stands beside it may come back corrupt.
#
# Usage: tune_shard.sh I/N DATABASE OPTION...   (tune.sub calls it)
#   I/N        the shard, from 1
#   DATABASE   what is taken away. Databases (*.db) that lie here at the start are what is known: those of an eviction, or of a former night
#   OPTION     of `tilesmith tune`
#
# On SIGTERM (an eviction) the tuner ends cleanly. One that was killed, for want of memory for instance, is started again and goes on.
# Environment: TILESMITH, the program (default: tilesmith); TILESMITH_RESTARTS, how often at most it is started again (default: 10).

set -uo pipefail

fail() {
  printf 'tune_shard.sh: %s\n' "$*" >&2
  exit 2
}
case "${1:-}" in
  -h | --help) sed -n '2,/^$/{s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
esac
[ $# -ge 2 ] || fail "expected I/N, a database and options of tune; see --help"
shard=$1 kept=$2
shift 2
[[ $shard =~ ^[1-9][0-9]*/[1-9][0-9]*$ ]] || fail "$shard: expected a shard, such as 3/8"
[[ $kept =~ ^[^/]+\.db$ ]] || fail "$kept: expected the name of a database here, such as shard-3.db"
for word in "$@"; do
  case "$word" in
    --db | --db=* | --shard | --shard=*) fail "$word: each job is given its own; leave it out" ;;
  esac
done
tilesmith=${TILESMITH:-tilesmith}
command -v "$tilesmith" >/dev/null || fail "$tilesmith: no such program; name it in TILESMITH"

mkdir -p work
known=()
for file in *.db; do if [ -s "$file" ]; then known+=("$file"); fi; done
[ "${#known[@]}" -eq 0 ] || "$tilesmith" merge "${known[@]}" --db work/tuned.db || fail "${known[*]}: cannot be gone on with"

evicted=false status=0
trap 'evicted=true; kill -TERM "$tuner" 2>/dev/null' TERM INT  # wait returns then, and is called again
for ((starts = 0; starts <= ${TILESMITH_RESTARTS:-10}; ++starts)); do
  "$tilesmith" tune "$@" --shard "$shard" --db work/tuned.db &
  tuner=$!
  status=0
  wait "$tuner" || status=$?
  while kill -0 "$tuner" 2>/dev/null; do
    status=0
    wait "$tuner" || status=$?
  done
  if $evicted || [ "$status" -le 128 ]; then break; fi
  echo "tune_shard.sh: the tuner ended with status $status; what it recorded is kept"
done
if [ -e work/tuned.db ]; then
  rm -f work/copy.db
  if ! { "$tilesmith" merge work/tuned.db --db work/copy.db >/dev/null && mv work/copy.db "$kept"; }; then fail "$kept: could not be written"; fi
fi
exit "$status"
