#!/usr/bin/env bash
# scripts/fleet_ssh.sh with two sshd of this machine as hosts: both tune a shard of a recording, one is killed and goes on, and what is merged
# is what one run knows. Skipped where there is no sshd.
set -euo pipefail
root=$1
build=$2
PATH=$PATH:/usr/sbin
for program in sshd ssh ssh-keygen setsid; do
  command -v "$program" >/dev/null || { echo "skipped, there is no $program (Debian's openssh-server)"; exit 0; }
done
tilesmith=$build/bin/tilesmith
work=$(mktemp -d)
pids=()
end() {
  # Whatever the hosts started has the folder in its command line or environment; sshd's own children end with it.
  for n in 1 2; do if [ -e "$work/host-$n/.cache/tilesmith-fleet/pid" ]; then kill -9 "$(cat "$work/host-$n/.cache/tilesmith-fleet/pid")" 2>/dev/null || true; fi; done
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end EXIT
die() {
  echo "$*"
  tail -n 30 "$work"/*.log "$work"/host-*/.cache/tilesmith-fleet/tune.out "$work"/host-*/.cache/tilesmith-fleet/tune.log 2>/dev/null || true
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
for ((i = 0; i < 40; ++i)); do
  if $TILESMITH_SSH orin-1 true && $TILESMITH_SSH orin-2 true; then break; fi 2>/dev/null
  sleep 0.25
done
$TILESMITH_SSH orin-2 true || die "the sshd of this test do not answer"

# Six problems with a few outcomes each.
"$tilesmith" export --format landscape --db "$root/db/recorded/h100.db" --device H100 --type f64f64 -o "$work/r.jsonl.zst" 2>"$work/export.log"
"$tilesmith" query --db "$root/db/recorded/h100.db" --sql "SELECT text FROM problems WHERE type = 'f64f64' ORDER BY text LIMIT 6" --format csv | tail -n +2 | tr -d '"' >"$work/w.txt"
options=(--workload "$work/w.txt" --replay "$work/r.jsonl.zst" --strategy exhaustive --family mma)
"$tilesmith" tune "${options[@]}" --db "$work/one.db" >/dev/null 2>"$work/one.log"
printf '# two boards\norin-1\n  orin-2  # the other\n' >"$work/hosts"
fleet() { "$root/scripts/fleet_ssh.sh" --hosts "$work/hosts" --arch none --out "$work/out" --budget 10m --program "$tilesmith" --tilesmith "$tilesmith" -- "${options[@]}"; }

fleet >"$work/fleet.log" 2>&1 &
night=$!
# The first host's tuner is killed as soon as it is there, with the shell that would write its status: like a board that is switched off.
folder=$work/host-1/.cache/tilesmith-fleet
for ((i = 0; i < 400; ++i)); do
  if [ -e "$folder/pid" ] && [ -e "$folder/fleet.db" ]; then break; fi
  sleep 0.05
done
kill -9 -- "-$(ps -o pgid= -p "$(cat "$folder/pid")" | tr -d ' ')" || die "the tuner of orin-1 was not to be killed"
wait "$night" || die "fleet_ssh.sh: exit status $?"
grep -q 'orin-1: start 2' "$work/fleet.log" || die "orin-1 was not started again"

outcomes() {
  "$tilesmith" query --db "$1" --format csv --sql "SELECT p.text, c.text, d.key, e.status, e.median_us, e.plan_hash FROM evidence e JOIN problems p ON p.id = e.problem_id \
    JOIN configs c ON c.id = e.config_id JOIN devices d ON d.id = e.device_id" | sort
}
diff <(outcomes "$work/one.db") <(outcomes "$work/out/tuned.db") >"$work/diff.log" || die "the merged database differs from that of one run"
[ "$(outcomes "$work/out/tuned.db" | wc -l)" -gt 8 ] || die "too few records"
for file in orin-1.db orin-2.db report.html; do [ -s "$work/out/$file" ] || die "$file is not there"; done

# A host that does not answer is told in one line, before anything is done.
echo orin-3 >>"$work/hosts"
status=0
errors=$(fleet 2>&1 >/dev/null) || status=$?
if [ "$status" -ne 2 ] || ! grep -q "orin-3: did not answer" <<<"$errors"; then die "a host that does not answer: status $status, $errors"; fi
