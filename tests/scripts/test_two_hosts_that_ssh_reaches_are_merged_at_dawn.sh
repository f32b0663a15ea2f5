#!/usr/bin/env bash
# scripts/fleet_ssh.sh with two sshd of this machine as hosts: both tune a shard of a recording, one is killed and goes on, and what is merged
# is what one run knows. Kernels for an Orin are compiled here beforehand, if there is NVRTC; both hosts then have all of them. A night until a
# time of day ends when it is told to. TILESMITH_LONG_TESTS=1: the next one goes on, and ends at that time, half a minute later. Skipped where
# there is no sshd.
set -euo pipefail
ROOT=$1
build=$2
# shellcheck source=scripts/lib_fleet.sh
. "$ROOT/scripts/lib_fleet.sh"
PATH=$PATH:/usr/sbin
for program in sshd ssh ssh-keygen setsid; do
  command -v "$program" >/dev/null || { echo "skipped, there is no $program (Debian's openssh-server)"; exit 77; }
done
tilesmith=$build/bin/tilesmith
work=$(mktemp -d)
pids=()
end() {
  # Whatever the hosts started has the folder in its command line or environment; sshd's own children end with it.
  for file in "$work"/host-*/.cache/*/pid; do if [ -e "$file" ]; then kill -9 "$(cat "$file")" 2>/dev/null || true; fi; done
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end EXIT
die() {
  echo "$*"
  tail -n 30 "$work"/*.log "$work"/host-*/.cache/*/tune.out "$work"/host-*/.cache/*/tune.log 2>/dev/null || true
  exit 1
}
unset SLURM_ARRAY_TASK_ID TILESMITH_DB
export CUDA_VISIBLE_DEVICES=''

if [ "$(id -u)" -eq 0 ]; then mkdir -p /run/sshd; fi
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
port=$((20000 + RANDOM % 20000))
for n in 1 2; do
  mkdir -p "$work/host-$n"
  cat >"$work/sshd-$n.conf" <<CONF
Port $((port + n))
ListenAddress 127.0.0.1
HostKey $work/key
PidFile $work/sshd-$n.pid
AuthorizedKeysFile $work/key.pub
PermitRootLogin yes
PasswordAuthentication no
StrictModes no
UsePAM no
ForceCommand cd $work/host-$n && export HOME=$work/host-$n CUDA_VISIBLE_DEVICES= && eval "\$SSH_ORIGINAL_COMMAND"
CONF
  "$(command -v sshd)" -D -f "$work/sshd-$n.conf" -E "$work/sshd-$n.log" &
  pids+=($!)
  printf 'Host orin-%s\n  HostName 127.0.0.1\n  Port %s\n' "$n" $((port + n)) >>"$work/ssh.conf"
done
cat >>"$work/ssh.conf" <<CONF
Host *
  User $(id -un)
  IdentityFile $work/key
  IdentitiesOnly yes
  BatchMode yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  ConnectTimeout 10
CONF
export TILESMITH_SSH="ssh -F $work/ssh.conf" TILESMITH_POLL=1
both_answer() { $TILESMITH_SSH orin-1 true && $TILESMITH_SSH orin-2 true; }
until_true 10 both_answer || die "the sshd of this test do not answer"

# Six problems with a few outcomes each.
record_problems "$work" 6
options=(--workload "$work/w.txt" --replay "$work/recording.jsonl.zst" --strategy exhaustive --family mma)
"$tilesmith" tune "${options[@]}" --db "$work/one.db" >/dev/null 2>"$work/one.log"
printf '# two boards\norin-1\n  orin-2  # the other\n' >"$work/hosts"
# fleet OUT OPTION...: of which some may be for the tuners, behind --.
fleet() {
  local out=$1
  shift
  "$ROOT/scripts/fleet_ssh.sh" --hosts "$work/hosts" --out "$work/$out" --program "$tilesmith" --tilesmith "$tilesmith" "$@"
}
at_work() { [ -e "$1/pid" ] && grep -qsa fleet.db "/proc/$(cat "$1/pid")/cmdline"; }

arch=none
if "$tilesmith" devices --format json | grep -Eq '"version": ?"[0-9]'; then arch=sm_87; fi
fleet out --arch $arch --first 1 --budget 10m -- "${options[@]}" >"$work/fleet.log" 2>&1 &
night=$!
# The first host's tuner is killed as soon as it is there, with the shell that would write its status: like a board that is switched off.
folder=$work/host-1/.cache/tilesmith-fleet
for ((i = 0; i < 2400; ++i)); do
  if [ -e "$folder/pid" ] && [ -e "$folder/fleet.db" ]; then break; fi
  kill -0 "$night" 2>/dev/null || break
  sleep 0.05
done
kill -9 -- "-$(ps -o pgid= -p "$(cat "$folder/pid")" | tr -d ' ')" || die "the tuner of orin-1 was not to be killed"
wait "$night" || die "fleet_ssh.sh: exit status $?"
grep -q 'orin-1: start 2' "$work/fleet.log" || die "orin-1 was not started again"

# What a board would try first is there before it is asked for: compiling it once more, there, compiles nothing.
if [ $arch = sm_87 ]; then
  compiled=$("$tilesmith" query --db "$work/out/tuned.db" --sql "SELECT count(*) FROM builds b JOIN kernels k ON k.id = b.kernel_id WHERE k.arch = 'sm_87' AND b.status = 'ok'" --format csv | tail -n 1)
  [ "$compiled" -ge 1 ] || die "no kernel was compiled beforehand"
  for n in 1 2; do
    "$tilesmith" compile --arch sm_87 --first 1 --workload "$work/w.txt" --family mma --db "$work/host-$n/.cache/tilesmith-fleet/fleet.db" >"$work/again.log" 2>&1 || die "compile on host $n failed"
    grep -q '^0 kernels compiled' "$work/again.log" || die "host $n had not all of the kernels"
    grep -Eq " $compiled\$" "$work/again.log" || die "host $n: expected $compiled kernels from before"
  done
fi

diff <(outcomes "$work/one.db") <(outcomes "$work/out/tuned.db") >"$work/diff.log" || die "the merged database differs from that of one run"
[ "$(outcomes "$work/out/tuned.db" | wc -l)" -gt 8 ] || die "too few records"
for file in orin-1.db orin-2.db report.html; do [ -s "$work/out/$file" ] || die "$file is not there"; done

# So many outcomes that no board is through with its shard before its night ends.
types=(f64f64) problems=56
if [ "${TILESMITH_LONG_TESTS:-0}" = 1 ]; then types=(f64f64 f16f32 bf16f32 f16f16 tf32f32 s8s32) problems=9999; fi
mkdir "$work/many"
record_problems "$work/many" "$problems" "${types[@]}"
long=("--workload=$work/many/w.txt" "--replay=$work/many/recording.jsonl.zst" --strategy exhaustive)
both_know() { for n in 1 2; do has_more_than 0 "$work/host-$n/.cache/long/fleet.db" || return 1; done; }
in_long=(--hosts "$work/hosts" --out "$work/long" --program "$tilesmith" --tilesmith "$tilesmith" --arch none --folder .cache/long)

# A time that is past today is tomorrow's. The script is told to end once both boards know something.
past=$(date -d '1 minute ago' +%H:%M)
"$ROOT/scripts/fleet_ssh.sh" "${in_long[@]}" --until "$past" -- "${long[@]}" >"$work/tomorrow.log" 2>&1 &
night=$!
until_true 60 both_know || die "the boards recorded nothing within a minute"
kill -TERM "$night"
wait "$night" || die "a night that was told to end: exit status $?"
grep -Eq "tuning until $(date -d "tomorrow $past" +%F) $past" "$work/tomorrow.log" || die "--until $past: expected tomorrow's"
for n in 1 2; do
  if at_work "$work/host-$n/.cache/long"; then die "host $n tunes on after dawn"; fi
done
first=$(count "$work/long/tuned.db")
[ "$first" -gt 0 ] || die "nothing of the first night is kept"

"$tilesmith" query --db "$work/long/tuned.db" --sql "SELECT command FROM runs" --format csv >"$work/runs.csv"
[ "$(grep -Ec -- '--budget 8[56][0-9]{3}s' "$work/runs.csv")" -eq 2 ] || die "the boards were not given the time until tomorrow: $(cat "$work/runs.csv")"

# The next one takes up what both know, and has half a minute until the time of day.
if [ "${TILESMITH_LONG_TESTS:-0}" = 1 ]; then
  # A clock that is FAKE_CLOCK seconds ahead, for the script alone: no tuner looks at the time of day.
  mkdir "$work/bin"
  cat >"$work/bin/date" <<FAKE
#!/bin/sh
for word; do [ "\$word" != -d ] || exec $(command -v date) "\$@"; done
exec $(command -v date) -d "@\$((\$($(command -v date) +%s) + FAKE_CLOCK))" "\$@"
FAKE
  chmod +x "$work/bin/date"
  export FAKE_CLOCK
  FAKE_CLOCK=$(((95 - 10#$(date +%S)) % 60))  # to second 35
  until=$(date -d "@$(($(date +%s) + FAKE_CLOCK + 30))" +%H:%M)
  began=$(date +%s)
  PATH=$work/bin:$PATH "$ROOT/scripts/fleet_ssh.sh" "${in_long[@]}" --until "$until" -- "${long[@]}" >"$work/until.log" 2>&1 || die "--until $until: exit status $?"
  took=$(($(date +%s) - began))
  grep -Eq "tuning until [0-9-]+ $until$" "$work/until.log" || die "the time of dawn is not told"
  [ "$took" -ge 20 ] || die "the night until $until ended after $took s"
  for n in 1 2; do
    if at_work "$work/host-$n/.cache/long"; then die "host $n tunes on after dawn"; fi
  done
  [ "$(count "$work/long/tuned.db")" -gt "$first" ] || die "the second night added nothing to $first records"
  "$tilesmith" query --db "$work/long/tuned.db" --sql "SELECT command, ended_how FROM runs ORDER BY started_at DESC LIMIT 2" --format csv >"$work/runs.csv"
  [ "$(grep -Ec -- '--budget (1?[0-9]|2[0-5])s' "$work/runs.csv")" -eq 2 ] || die "the boards were not given the time that was left: $(cat "$work/runs.csv")"
  [ "$(grep -Ec '(budget|interrupted)$' "$work/runs.csv")" -eq 2 ] || die "a tuner did not end by time: $(cat "$work/runs.csv")"
fi

# A host that does not answer is told in one line, before anything is done.
echo orin-3 >>"$work/hosts"
status=0
errors=$(fleet out --arch none --budget 10m -- "${options[@]}" 2>&1 >/dev/null) || status=$?
if [ "$status" -ne 2 ] || ! grep -q "orin-3: did not answer" <<<"$errors"; then die "a host that does not answer: status $status, $errors"; fi
