#!/usr/bin/env bash
# Runs what docs/fleets.md says of schedulers, with a recording in place of GPUs: scripts/slurm, and the page's lines for GNU parallel and HTCondor
# as they stand there. Each merged database must know what one run knows. Takes about five minutes each. A nightly check: .ci/run installs none.
#   slurm      a controller and four nodes on this machine. Two tuners are killed, one task is told that its limit is near, one node is drained
#              and its task sent elsewhere
#   parallel   GNU parallel is interrupted and called again
#   htcondor   four slots with a made-up GPU each. One tuner is killed, one job evicted. It runs in a fresh Debian 13 in the work folder, since
#              Debian 12 has no package of it; this needs root, debootstrap and a network
#
# Usage: check_schedulers.sh [--only slurm|parallel|htcondor] [--install] [--keep] [--help]
#   --only ONE  of the three
#   --install   install what they need from Debian's packages first
#   --keep      leave the folder with all logs
# Environment: TILESMITH_BUILD_DIR, the folder of the program (default: build/release); TILESMITH_PORT, the first of six that are free.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/lib_packages.sh
. "$ROOT/scripts/lib_packages.sh"
# shellcheck source=scripts/lib_fleet.sh
. "$ROOT/scripts/lib_fleet.sh"

NODES=4
SHARDS=8
PORT=${TILESMITH_PORT:-18070}
MOST_SECONDS=900
declare -A PACKAGES=([slurm]="slurmctld slurmd slurm-client munge" [parallel]=parallel [htcondor]=debootstrap)

install=false keep=false checks=(slurm parallel htcondor)
while [ $# -gt 0 ]; do
  case "$1" in
    --install) install=true ;;
    --only)
      [[ ${2:-} =~ ^(slurm|parallel|htcondor)$ ]] || fail "--only ${2:-}: expected slurm, parallel or htcondor"
      checks=("$2")
      shift
      ;;
    --keep) keep=true ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done
# shellcheck disable=SC2086  # lists of words
if $install; then for check in "${checks[@]}"; do install_packages ${PACKAGES[$check]}; done; fi
require_program tilesmith
tilesmith=$BUILD_DIR/bin/tilesmith
PATH=$PATH:/usr/sbin
unset SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT TILESMITH_DB
export CUDA_VISIBLE_DEVICES=''

work=$(mktemp -d /tmp/tilesmith-schedulers-XXXXXX)
room=$work/room master='' started=()
end() {
  local status=$?
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  if [ -n "$master" ]; then
    kill -QUIT "$master" 2>/dev/null || true  # it ends its daemons and jobs
    for ((i = 0; i < 40; ++i)); do kill -0 "$master" 2>/dev/null || break; sleep 0.5; done
  fi
  sleep 1
  for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  umount "$room/proc" 2>/dev/null || true
  if $keep || [ "$status" -ne 0 ]; then echo "logs: $work"; elif ! mountpoint -q "$room/proc"; then rm -rf "$work"; fi
}
trap end EXIT

# start NAME COMMAND...: in the background, with its output in a file of that name.
start() {
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 &
  started+=($!)
}
# await SECONDS WHAT COMMAND...
await() { until_true "$1" "${@:3}" || fail "$2: not within $1 s"; }
need() { have "$1" || fail "$1 was not found; it is in Debian's packages ${PACKAGES[$2]} (--install)"; }
# lines_of PATTERN: the block of docs/fleets.md whose first line matches.
lines_of() {
  awk -v pattern="$1" '/^```/ { inside = !inside; first = inside; if (!inside && wanted) { exit } next }
    inside { if (first) wanted = $0 ~ pattern; first = 0; if (wanted) print }' "$ROOT/docs/fleets.md"
}
equals_one_run() {
  cmp -s <(outcomes "$work/one.db") <(outcomes "$1") || fail "$1 differs from what one run knows, $work/one.db"
  say "$2: the merged database of $SHARDS shards equals that of one run, $(count "$1") records"
}

# What the page's lines call by that name: the program, with a recording instead of a GPU, and a workload that the recording has.
stand_in() {
  local file=$1 run=$2 recording=$3 calls=$4 workload=$5
  mkdir -p "$(dirname "$file")"
  cat >"$file" <<STAND_IN
#!/bin/bash
words=("\${@/#llama3-8b/$workload}")
if [ "\$1" = tune ]; then
  echo "\$CUDA_VISIBLE_DEVICES \$*" >>"$calls"
  words+=(--replay "$recording" --strategy exhaustive)
fi
$run "\${words[@]}"
STAND_IN
  chmod +x "$file"
}

# --- Slurm -------------------------------------------------------------------------------------------------------------
configure_slurm() {
  local host=${HOSTNAME%%.*} user
  user=$(id -un)
  mkdir -p "$slurm"/{state,local,out,munge}
  chmod 700 "$slurm/munge"
  dd if=/dev/urandom of="$slurm/munge/key" bs=1024 count=1 2>/dev/null
  chmod 400 "$slurm/munge/key"
  cat >"$slurm/slurm.conf" <<CONF
ClusterName=tilesmith
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool-%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd-%n.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd-%n.log
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
  export SLURM_CONF=$slurm/slurm.conf
}
nodes_are_idle() { [ "$(sinfo -h -N -t idle -o %N | wc -l)" -eq "$NODES" ]; }
# tuner_of TASK: the process of its tuner, once it has recorded something.
tuner_of() {
  local db
  for db in "$slurm"/local/*/"$job"/*/"$1"/tuned.db; do
    [ -e "$db" ] && has_more_than 0 "$db" && pgrep -f "tune .*--db $db\$" | head -n 1 | grep .
  done
}
node_of() { squeue -h -j "${job}_$1" -t running -o %N; }
log_of() { echo "$slurm/tilesmith-${job}_$1.log"; }
# A task that is at work, has more than one problem and was left alone so far, as `victim`.
find_task() {
  local task
  for ((task = 0; task < SHARDS; ++task)); do
    if [[ " ${victims[*]} " == *" $task "* ]] || grep -qs ' tuning 1 problem ' "$(log_of "$task")"; then continue; fi
    tuner_of "$task" >/dev/null && [ -n "$(node_of "$task")" ] && victim=$task && return
  done
  return 1
}
next_task() { await 120 "a task at work" find_task && victims+=("$victim"); }
merge_ended() { [ -z "$(squeue -h -j "$merge" 2>/dev/null)" ]; }

check_slurm() {
  local slurm=$work/slurm job merge victim='' victims=() warned moved node round task options
  for program in slurmctld slurmd sbatch scontrol munged; do need $program slurm; done
  say "Slurm: $NODES nodes in $slurm"
  configure_slurm
  start munged munged --foreground --force --key-file="$slurm/munge/key" --socket="$slurm/munge/socket" --pid-file="$slurm/munge/pid" \
    --log-file="$slurm/munge/log" --seed-file="$slurm/munge/seed"
  await 20 munged test -S "$slurm/munge/socket" && start slurmctld slurmctld -D -c
  for ((n = 1; n <= NODES; ++n)); do start "slurmd-$n" slurmd -D -N "n$n"; done
  await 60 "all nodes idle" nodes_are_idle
  say "$SHARDS shards, and their merge after them"
  export TILESMITH=$tilesmith TILESMITH_OUT=$slurm/out TILESMITH_LOCAL=$slurm/local TILESMITH_SAVE_EVERY=2 TILESMITH_EXPECTED=$SHARDS
  options=(--workload "$work/w.txt" --replay "$work/recording.jsonl.zst" --strategy exhaustive)
  cd "$slurm"
  job=$(sbatch --parsable --array="0-$((SHARDS - 1))" --time=60 "$ROOT/scripts/slurm/tune_array.sbatch" "${options[@]}")
  merge=$(sbatch --parsable --dependency="afterany:$job" "$ROOT/scripts/slurm/merge.sbatch")

  for round in first second; do
    next_task
    kill -9 "$(tuner_of "$victim")"
    say "killed the tuner of task $victim, the $round"
  done
  next_task
  warned=$victim
  timeout 2 scancel --signal=TERM --batch "${job}_$warned" || true  # it asks again while the task ends, for half a minute
  say "told task $warned that its limit is near"
  next_task
  moved=$victim
  node=$(node_of "$moved")
  await 60 "the first copy of task $moved" test -e "$slurm/out/shard-$moved.db"
  scontrol update nodename="$node" state=drain reason="to be repaired"
  scontrol requeue "${job}_$moved"
  say "drained $node; its task $moved goes elsewhere"

  await "$MOST_SECONDS" "the merge" merge_ended
  cd "$ROOT"
  for task in "${victims[@]}"; do grep -q ', start 2,' "$(log_of "$task")" || fail "task $task: was not started again; see $(log_of "$task")"; done
  grep -q 'ended with status 143' "$(log_of "$warned")" || fail "task $warned: did not end cleanly by SIGTERM"
  [ "$(grep -c "on $node, start 1" "$(log_of "$moved")")" -eq 1 ] || fail "task $moved: did not begin on $node"
  ! grep -q "on $node, start 2" "$(log_of "$moved")" || fail "task $moved: came back to $node, which is drained"
  [ -e "$slurm/out/tuned.db" ] || fail "no merged database: see $slurm/tilesmith-merge-$merge.log"
  equals_one_run "$slurm/out/tuned.db" Slurm
}

# --- GNU parallel ------------------------------------------------------------------------------------------------------
check_parallel() {
  local lines night file
  parallel --version 2>/dev/null | grep -q GNU || fail "GNU parallel was not found; it is in Debian's package parallel (--install)"
  lines=$(lines_of '^parallel ')
  grep -q 'parallel .*-j8' <<<"$lines" || fail "docs/fleets.md: expected a block that begins with parallel -j8"
  mkdir "$work/parallel"
  stand_in "$work/bin/tilesmith" "exec '$tilesmith'" "$work/recording.jsonl.zst" "$work/parallel.calls" "$work/w.txt"
  cd "$work/parallel"
  say "GNU parallel, interrupted as by Ctrl-C"
  # Bash would have the program ignore the signal that it starts behind &.
  PATH=$work/bin:$PATH start interrupted python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp("bash", ["bash", "-c", "set -e\n" + sys.argv[1]])' "${lines/parallel /exec parallel }"
  night=$!
  await 180 "a shard with records" has_more_than 1 shard-1.db
  kill -INT "$night"
  wait "$night" && fail "GNU parallel: ended with status 0 although it was interrupted"
  [ "$(sort -u "$work/parallel.calls" | cut -d' ' -f1 | sort -n | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 " ] || fail "GNU parallel: expected a GPU each: $work/parallel.calls"
  for file in shard-*.db; do
    [[ $(ends_of "$file") =~ ^(interrupted|done)$ ]] || fail "$file: its tuner did not end cleanly: '$(ends_of "$file")'"
  done
  ends_of shard-1.db | grep -q interrupted || fail "shard-1.db: was not interrupted"
  say "GNU parallel, once more"
  PATH=$work/bin:$PATH bash -c "set -e
$lines" >"$work/parallel.log" 2>&1 || fail "GNU parallel: see $work/parallel.log"
  cd "$ROOT"
  equals_one_run "$work/parallel/tuned.db" "GNU parallel"
}

# --- HTCondor ----------------------------------------------------------------------------------------------------------
in_room=(chroot --userspec=1000:1000 "$room" env HOME=/home/night PATH=/usr/bin:/bin:/usr/sbin CONDOR_CONFIG=/home/night/pool/condor_config)

make_room() {
  [ "$(id -u)" -eq 0 ] || fail "HTCondor: expected root, as debootstrap does; --only parallel goes without"
  need debootstrap htcondor
  say "a fresh Debian 13 with HTCondor in $room"
  debootstrap --variant=minbase trixie "$room" >"$work/room.log" 2>&1 || fail "debootstrap failed: $work/room.log"
  mount -t proc proc "$room/proc"
  chroot "$room" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends htcondor >>"$work/room.log" 2>&1 || fail "no HTCondor: $work/room.log"
  chroot "$room" useradd -m -u 1000 night
  mkdir -p "$room/opt/tilesmith/lib" "$room/home/night/tilesmith/scripts" "$room/home/night/night" "$room/home/night/pool"/{log,spool,execute,run,lock}
  cp "$tilesmith" "$room/opt/tilesmith/program"
  ldd "$tilesmith" | awk '$3 ~ /^\// { print $3 }' | grep -Ev '/lib(c|m|stdc\+\+|gcc_s)\.so' | while read -r lib; do cp -L "$lib" "$room/opt/tilesmith/lib/"; done
  cp "$work/recording.jsonl.zst" "$room/opt/tilesmith/"
  cp -R "$ROOT/scripts/htcondor" "$room/home/night/tilesmith/scripts/"
  cp "$work/w.txt" "$room/home/night/night/"
  stand_in "$room/usr/bin/tilesmith" 'LD_LIBRARY_PATH=/opt/tilesmith/lib exec /opt/tilesmith/program' /opt/tilesmith/recording.jsonl.zst /home/night/calls w.txt
  # Four slots with a GPU each, of this machine alone. Matches are made as soon as may be.
  cat >"$room/home/night/pool/condor_config" <<CONF
use ROLE: Personal
RELEASE_DIR = /usr
$(printf '%s = /usr/%s\n' BIN bin SBIN sbin LIB lib/condor LIBEXEC libexec/condor)
LOCAL_DIR = /home/night/pool
$(printf '%s = /home/night/pool/%s\n' LOG log SPOOL spool EXECUTE execute RUN run LOCK lock)
CONDOR_HOST = 127.0.0.1
NETWORK_INTERFACE = 127.0.0.1
COLLECTOR_HOST = 127.0.0.1:$((PORT + NODES + 1))
DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD STARTD
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
$(printf 'ALLOW_%s = *\n' READ WRITE ADMINISTRATOR DAEMON NEGOTIATOR)
$(printf '%s = FALSE\n' USE_SHARED_PORT SUSPEND PREEMPT KILL)
NUM_CPUS = 16
MEMORY = 40000
MACHINE_RESOURCE_GPUs = CUDA0, CUDA1, CUDA2, CUDA3
SLOT_TYPE_1 = cpus=4, memory=10000, GPUs=1, disk=25%
NUM_SLOTS_TYPE_1 = 4
START = TRUE
$(printf '%s = 1\n' NEGOTIATOR_INTERVAL NEGOTIATOR_CYCLE_DELAY SCHEDD_INTERVAL SCHEDD_MIN_INTERVAL)
CONF
  chroot "$room" chown -R night:night /home/night
}

has_slots() { [ "$("${in_room[@]}" condor_status -af Name | wc -l)" -eq 4 ]; }
# The shard of a job at work that has recorded something and was left alone so far, its tuner's process and its job, as `victim`.
find_victim() {
  local shard folder job
  for folder in "$room"/home/night/pool/execute/dir_*; do
    shard=$(sed -n 's|^Args = "\([0-9]*\)/8 .*|\1|p' "$folder/.job.ad" 2>/dev/null || true)
    if [ -z "$shard" ] || [ "$shard" = "$spared" ] || ! has_more_than 1 "$folder/work/tuned.db"; then continue; fi
    job=$("${in_room[@]}" condor_q -af ClusterId ProcId Args | awk -v shard="$shard/8" '$3 == shard { print $1 "." $2 }')
    victim=("$shard" "$(pgrep -f "^/opt/tilesmith/program tune .*--shard $shard/8" | head -n 1)" "$job")
    [ -n "${victim[1]}" ] && [ -n "$job" ] && return
  done
  return 1
}

check_htcondor() {
  local lines night spared='' victim=() killed evicted
  lines=$(lines_of '^condor_submit ')
  grep -q '^condor_wait ' <<<"$lines" || fail "docs/fleets.md: expected a block that begins with condor_submit and has condor_wait"
  make_room
  "${in_room[@]}" condor_master -f >"$work/master.log" 2>&1 &
  master=$!
  await 60 "four slots of HTCondor" has_slots
  say "HTCondor, 8 jobs"
  "${in_room[@]}" bash -c "cd ~/night && set -e
$lines" >"$work/htcondor.log" 2>&1 &
  night=$!
  started+=("$night")
  await 180 "a job at work" find_victim
  killed=${victim[0]} spared=$killed
  kill -9 "${victim[1]}"
  say "killed the tuner of shard $killed"
  await 180 "another job at work" find_victim
  evicted=${victim[0]}
  "${in_room[@]}" condor_vacate_job "${victim[2]}" >/dev/null
  say "evicted the job of shard $evicted"
  await "$MOST_SECONDS" "the merge" test -e "$room/home/night/night/tuned.db"
  wait "$night" || fail "HTCondor: see $work/htcondor.log"
  local folder=$room/home/night/night
  grep -q 'ended with status 137' "$folder/shard-$killed.out" || fail "shard $killed: its tuner was not started again"
  [ "$(ends_of "$folder/shard-$evicted.db" | tr '\n' ' ')" = "interrupted done " ] || fail "shard $evicted: was not ended cleanly, or did not go on"
  [ "$(cut -d' ' -f1 "$room/home/night/calls" | sort -u | tr '\n' ' ')" = "CUDA0 CUDA1 CUDA2 CUDA3 " ] || fail "HTCondor: expected four GPUs in use: $room/home/night/calls"
  equals_one_run "$folder/tuned.db" HTCondor
}

say "one run of the same problems, to compare with"
record_problems "$work" 56
"$tilesmith" tune --workload "$work/w.txt" --replay "$work/recording.jsonl.zst" --strategy exhaustive --db "$work/one.db" >"$work/one.log" 2>&1
for check in "${checks[@]}"; do "check_$check"; done
