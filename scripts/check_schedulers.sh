#!/usr/bin/env bash
# Runs the lines for GNU parallel and for HTCondor of docs/fleets.md as they stand there, with a recording in place of GPUs. GNU parallel is
# interrupted and called again. HTCondor's jobs run on four slots with a made-up GPU each; one tuner is killed, one job evicted. Each merged
# database must know what one run knows. Takes about five minutes. A nightly check: .ci/run installs neither.
#
# Usage: check_schedulers.sh [--install] [--only parallel|htcondor] [--keep] [--help]
#   --install   install Debian's packages first: parallel, debootstrap
#   --only ONE  of the two
#   --keep      leave the folder with all logs
# HTCondor runs in a fresh Debian 13 in that folder, since Debian 12 has no package of it; this needs root, debootstrap and a network.
# Environment: TILESMITH_BUILD_DIR, the folder of the program (default: build/release).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/lib_packages.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib_packages.sh"

PROBLEMS=56
RECORDED=$ROOT/db/recorded/h100.db
PORT=${TILESMITH_CONDOR_PORT:-29618}
MOST_SECONDS=900

install=false keep=false only=
while [ $# -gt 0 ]; do
  case "$1" in
    --install) install=true ;;
    --only)
      [[ ${2:-} =~ ^(parallel|htcondor)$ ]] || fail "--only ${2:-}: expected parallel or htcondor"
      only=$2
      shift
      ;;
    --keep) keep=true ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done
if $install; then install_packages parallel debootstrap; fi
require_program tilesmith
tilesmith=$BUILD_DIR/bin/tilesmith
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
  umount "$room/proc" 2>/dev/null || true
  if $keep || [ "$status" -ne 0 ]; then echo "logs: $work"; elif ! mountpoint -q "$room/proc"; then rm -rf "$work"; fi
}
trap end EXIT

# lines_of PATTERN: the block of docs/fleets.md whose first line matches.
lines_of() {
  awk -v pattern="$1" '/^```/ { inside = !inside; first = inside; if (!inside && wanted) { exit } next }
    inside { if (first) wanted = $0 ~ pattern; first = 0; if (wanted) print }' "$ROOT/docs/fleets.md"
}
count() { "$tilesmith" query --db "$1" --sql 'SELECT count(*) FROM evidence' --format csv 2>/dev/null | tail -n 1; }
knows_something() { [ "$(count "$1")" -gt 1 ] 2>/dev/null; }
# ends_of DATABASE: how the runs that it knows ended, a line each.
ends_of() { "$tilesmith" query --db "$1" --sql 'SELECT ended_how FROM runs ORDER BY started_at' --format csv | tail -n +2; }
outcomes() {
  "$tilesmith" query --db "$1" --format csv --sql "SELECT p.text, c.text, d.key, e.status, e.median_us, e.message, e.plan_hash FROM evidence e \
    JOIN problems p ON p.id = e.problem_id JOIN configs c ON c.id = e.config_id JOIN devices d ON d.id = e.device_id" | sort
}
equals_one_run() {
  cmp -s <(outcomes "$work/one.db") <(outcomes "$1") || fail "$1 differs from what one run knows, $work/one.db"
  say "$2: the merged database of 8 shards equals that of one run, $(count "$1") records"
}
# until_true SECONDS WHAT COMMAND..
until_true() {
  local seconds=$1 what=$2
  shift 2
  for ((i = 0; i < seconds * 4; ++i)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.25
  done
  fail "$what: not within $seconds s"
}

say "one run of $PROBLEMS problems, to compare with"
"$tilesmith" export --format landscape --db "$RECORDED" --device H100 --type f64f64 -o "$work/recording.jsonl.zst" >"$work/one.log" 2>&1
"$tilesmith" query --db "$RECORDED" --sql "SELECT text FROM problems WHERE type = 'f64f64' ORDER BY text LIMIT $PROBLEMS" --format csv |
  tail -n +2 | tr -d '"' >"$work/w.txt"
"$tilesmith" tune --workload "$work/w.txt" --replay "$work/recording.jsonl.zst" --strategy exhaustive --db "$work/one.db" >>"$work/one.log" 2>&1

# What the lines call by that name: the program, with a recording instead of a GPU, and a workload that the recording has.
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

check_parallel() {
  local lines night
  parallel --version 2>/dev/null | grep -q GNU || fail "GNU parallel was not found; it is in Debian's package parallel (--install)"
  lines=$(lines_of '^parallel ')
  grep -q 'parallel .*-j8' <<<"$lines" || fail "docs/fleets.md: expected a block that begins with parallel -j8"
  mkdir "$work/parallel"
  stand_in "$work/bin/tilesmith" "exec '$tilesmith'" "$work/recording.jsonl.zst" "$work/parallel.calls" "$work/w.txt"
  cd "$work/parallel"
  say "GNU parallel, interrupted as by Ctrl-C"
  # Bash would have the program ignore the signal that it starts behind &.
  PATH=$work/bin:$PATH python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp("bash", ["bash", "-c", "set -e\n" + sys.argv[1]])' "${lines/parallel /exec parallel }" >"$work/interrupted.log" 2>&1 &
  night=$!
  started+=("$night")
  until_true 180 "a shard with records" knows_something shard-1.db
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

in_room=(chroot --userspec=1000:1000 "$room" env HOME=/home/night PATH=/usr/bin:/bin:/usr/sbin CONDOR_CONFIG=/home/night/pool/condor_config)

make_room() {
  [ "$(id -u)" -eq 0 ] || fail "HTCondor: expected root, as debootstrap does; --only parallel goes without"
  have debootstrap || fail "debootstrap was not found; it is in Debian's package of that name (--install)"
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
BIN = /usr/bin
SBIN = /usr/sbin
LIB = /usr/lib/condor
LIBEXEC = /usr/libexec/condor
LOCAL_DIR = /home/night/pool
LOG = \$(LOCAL_DIR)/log
SPOOL = \$(LOCAL_DIR)/spool
EXECUTE = \$(LOCAL_DIR)/execute
RUN = \$(LOCAL_DIR)/run
LOCK = \$(LOCAL_DIR)/lock
CONDOR_HOST = 127.0.0.1
NETWORK_INTERFACE = 127.0.0.1
COLLECTOR_HOST = 127.0.0.1:$PORT
USE_SHARED_PORT = FALSE
DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD STARTD
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_ADMINISTRATOR = *
ALLOW_DAEMON = *
ALLOW_NEGOTIATOR = *
NUM_CPUS = 16
MEMORY = 40000
MACHINE_RESOURCE_GPUs = CUDA0, CUDA1, CUDA2, CUDA3
SLOT_TYPE_1 = cpus=4, memory=10000, GPUs=1, disk=25%
NUM_SLOTS_TYPE_1 = 4
START = TRUE
SUSPEND = FALSE
PREEMPT = FALSE
KILL = FALSE
NEGOTIATOR_INTERVAL = 2
NEGOTIATOR_CYCLE_DELAY = 1
SCHEDD_INTERVAL = 2
SCHEDD_MIN_INTERVAL = 1
CONF
  chroot "$room" chown -R night:night /home/night
}

has_slots() { [ "$("${in_room[@]}" condor_status -af Name | wc -l)" -eq 4 ]; }
# The shard of a job at work that has recorded something and was left alone so far, its tuner's process and its job, as `victim`.
find_victim() {
  local shard folder job
  for folder in "$room"/home/night/pool/execute/dir_*; do
    shard=$(sed -n 's|^Args = "\([0-9]*\)/8 .*|\1|p' "$folder/.job.ad" 2>/dev/null || true)
    if [ -z "$shard" ] || [ "$shard" = "$spared" ] || ! knows_something "$folder/work/tuned.db"; then continue; fi
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
  until_true 60 "four slots of HTCondor" has_slots
  say "HTCondor, 8 jobs"
  "${in_room[@]}" bash -c "cd ~/night && set -e
$lines" >"$work/htcondor.log" 2>&1 &
  night=$!
  started+=("$night")
  until_true 180 "a job at work" find_victim
  killed=${victim[0]} spared=$killed
  kill -9 "${victim[1]}"
  say "killed the tuner of shard $killed"
  until_true 180 "another job at work" find_victim
  evicted=${victim[0]}
  "${in_room[@]}" condor_vacate_job "${victim[2]}" >/dev/null
  say "evicted the job of shard $evicted"
  until_true "$MOST_SECONDS" "the merge" test -e "$room/home/night/night/tuned.db"
  wait "$night" || fail "HTCondor: see $work/htcondor.log"
  local folder=$room/home/night/night
  grep -q 'ended with status 137' "$folder/shard-$killed.out" || fail "shard $killed: its tuner was not started again"
  [ "$(ends_of "$folder/shard-$evicted.db" | tr '\n' ' ')" = "interrupted done " ] || fail "shard $evicted: was not ended cleanly, or did not go on"
  [ "$(cut -d' ' -f1 "$room/home/night/calls" | sort -u | tr '\n' ' ')" = "CUDA0 CUDA1 CUDA2 CUDA3 " ] || fail "HTCondor: expected four GPUs in use: $room/home/night/calls"
  equals_one_run "$folder/tuned.db" HTCondor
}

[ "$only" = htcondor ] || check_parallel
[ "$only" = parallel ] || check_htcondor
