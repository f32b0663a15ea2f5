#!/usr/bin/env bash
# Proves scripts/slurm against a real Slurm: a controller and four nodes on this machine, eight shards that replay a recording in place of
# GPUs. Two tuners are killed, one task is told that its limit is near, one node is drained and its task sent elsewhere. The merged
# database must know what one run knows. Takes about five minutes. A nightly check: .ci/run does not install Slurm.
#
# Usage: check_slurm.sh [--install] [--keep] [--help]
#   --install   install Debian's packages of Slurm and MUNGE first, as root
#   --keep      leave the folder with all logs
# Environment: TILESMITH_BUILD_DIR, the folder of the program (default: build/release).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NODES=4
SHARDS=8
PORT=${TILESMITH_SLURM_PORT:-18070}  # and those after it
MOST_SECONDS=900
PROBLEMS=56
RECORDED=$ROOT/db/recorded/h100.db

install=false keep=false
while [ $# -gt 0 ]; do
  case "$1" in
    --install) install=true ;;
    --keep) keep=true ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done
if $install; then
  say "installing Slurm and MUNGE"
  apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge >/dev/null
fi
PATH=$PATH:/usr/sbin
for program in slurmctld slurmd sbatch scontrol munged; do
  have "$program" || fail "$program was not found; it is in Debian's packages slurmctld, slurmd, slurm-client and munge (--install)"
done
require_program tilesmith
tilesmith=$BUILD_DIR/bin/tilesmith

work=$(mktemp -d /tmp/tilesmith-slurm-XXXXXX)
started=()
end() {
  local status=$?
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  sleep 1
  for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  if $keep || [ "$status" -ne 0 ]; then echo "logs: $work"; else rm -rf "$work"; fi
}
trap end EXIT

host=$(hostname -s)
user=$(id -un)
mkdir -p "$work"/{state,local,out,munge}
chmod 700 "$work/munge"
dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 2>/dev/null
chmod 400 "$work/munge/key"
cat >"$work/slurm.conf" <<CONF
ClusterName=tilesmith
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
MpiDefault=none
KillWait=5
MinJobAge=3600
ReturnToService=2
JobRequeue=1
NodeName=n[1-$NODES] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((PORT + 1))-$((PORT + NODES))] CPUs=1 RealMemory=100
PartitionName=all Nodes=n[1-$NODES] Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf

# start NAME COMMAND..: in the foreground of a process of its own.
start() {
  local name=$1
  shift
  "$@" >"$work/$name.out" 2>&1 &
  started+=($!)
}
# until_true SECONDS WHAT COMMAND..
until_true() {
  local seconds=$1 what=$2
  shift 2
  for ((i = 0; i < seconds * 2; ++i)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.5
  done
  fail "$what: not within $seconds s"
}

say "one run of $PROBLEMS problems, to compare with"
"$tilesmith" export --format landscape --db "$RECORDED" --device H100 --type f64f64 -o "$work/recording.jsonl.zst" >"$work/one.log" 2>&1
"$tilesmith" query --db "$RECORDED" --sql "SELECT text FROM problems WHERE type = 'f64f64' ORDER BY text LIMIT $PROBLEMS" --format csv |
  tail -n +2 | tr -d '"' >"$work/night.txt"
tune_options=(--workload "$work/night.txt" --replay "$work/recording.jsonl.zst" --strategy exhaustive)
"$tilesmith" tune "${tune_options[@]}" --shard none --db "$work/one.db" >>"$work/one.log" 2>&1 &
one=$!
started+=("$one")

say "a cluster of $NODES nodes in $work"
start munged munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/log" --seed-file="$work/munge/seed"
until_true 20 "munged" test -S "$work/munge/socket"
start slurmctld slurmctld -D -c
for ((n = 1; n <= NODES; ++n)); do start "slurmd-$n" slurmd -D -N "n$n"; done
idle() { [ "$(sinfo -h -N -t idle -o %N | wc -l)" -eq "$NODES" ]; }
until_true 60 "all nodes idle" idle

say "$SHARDS shards, and their merge after them"
export TILESMITH=$tilesmith TILESMITH_OUT=$work/out TILESMITH_LOCAL=$work/local TILESMITH_SAVE_EVERY=2 TILESMITH_EXPECTED=$SHARDS
cd "$work"
job=$(sbatch --parsable --array="0-$((SHARDS - 1))" --time=60 "$ROOT/scripts/slurm/tune_array.sbatch" "${tune_options[@]}")
merge=$(sbatch --parsable --dependency="afterany:$job" "$ROOT/scripts/slurm/merge.sbatch")

# tuner_of TASK: the process of its tuner, once it has recorded something.
tuner_of() {
  local db
  for db in "$work"/local/*/"$job"/*/"$1"/tuned.db; do
    [ -e "$db" ] && [ "$("$tilesmith" query --db "$db" --sql 'SELECT count(*) FROM evidence' --format csv | tail -n 1)" -gt 0 ] && pgrep -f "tune .*--db $db\$" | head -n 1 | grep .
  done
}
node_of() { squeue -h -j "${job}_$1" -t running -o %N; }
count_in_log() { grep -c "$2" "$work/tilesmith-${job}_$1.log" || true; }
victims=()
# A task that is at work and was left alone so far, as `victim`.
find_victim() {
  local task
  for ((task = 0; task < SHARDS; ++task)); do
    [[ " ${victims[*]} " != *" $task "* ]] && tuner_of "$task" >/dev/null && [ -n "$(node_of "$task")" ] && victim=$task && return
  done
  return 1
}
next_victim() {
  until_true 120 "a task at work" find_victim
  victims+=("$victim")
}

for round in first second; do
  next_victim
  kill -9 "$(tuner_of "$victim")"
  say "killed the tuner of task $victim, the $round"
done
next_victim
warned=$victim
timeout 2 scancel --signal=TERM --batch "${job}_$warned" || true  # it asks again while the task ends, for half a minute
say "told task $warned that its limit is near"
next_victim
moved=$victim
node=$(node_of "$moved")
until_true 60 "the first copy of task $moved" test -e "$work/out/shard-$moved.db"
scontrol update nodename="$node" state=drain reason="to be repaired"
scontrol requeue "${job}_$moved"
say "drained $node; its task $moved goes elsewhere"

ended() { [ -z "$(squeue -h -j "$merge" 2>/dev/null)" ]; }
until_true "$MOST_SECONDS" "the merge" ended
cd "$ROOT"
wait "$one" || fail "the one run: failed; see $work/one.log"
for task in "${victims[@]}"; do
  [ "$(count_in_log "$task" ', start 2,')" -ge 1 ] || fail "task $task: was not started again; see $work/tilesmith-${job}_$task.log"
done
[ "$(count_in_log "$warned" 'ended with status 143')" -ge 1 ] || fail "task $warned: did not end cleanly by SIGTERM"
[ "$(count_in_log "$moved" "on $node, start 1")" -eq 1 ] || fail "task $moved: did not begin on $node"
[ "$(count_in_log "$moved" "on $node, start 2")" -eq 0 ] || fail "task $moved: came back to $node, which is drained"
[ -e "$work/out/tuned.db" ] || fail "no merged database: see $work/tilesmith-merge-$merge.log"

# What is recorded of which candidate of which problem on which device; not by which run.
outcomes() {
  "$tilesmith" query --db "$1" --format csv --sql "SELECT p.text, c.text, d.key, e.status, e.median_us, e.message, e.plan_hash FROM evidence e \
    JOIN problems p ON p.id = e.problem_id JOIN configs c ON c.id = e.config_id JOIN devices d ON d.id = e.device_id" | sort
}
outcomes "$work/one.db" >"$work/one.csv"
outcomes "$work/out/tuned.db" >"$work/merged.csv"
cmp -s "$work/one.csv" "$work/merged.csv" || fail "the merged database differs from that of one run: diff $work/one.csv $work/merged.csv"
"$tilesmith" compare "$work/one.db" "$work/out/tuned.db"
say "the merged database of $SHARDS shards equals that of one run: $(($(wc -l <"$work/one.csv") - 1)) records"
