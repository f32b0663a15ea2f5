#!/usr/bin/env bash
# What stands against a night of tuning is said in one line, with status 2, before anything is changed.
set -euo pipefail
# shellcheck source=tests/scripts/fake_orin.sh
. "$(dirname "${BASH_SOURCE[0]}")/fake_orin.sh"

# refused WORD OPTION...: one line that holds WORD, status 2, and nothing changed.
refused() {
  local word=$1 status=0
  shift
  : >"$machine/calls"
  "${night[@]}" "$@" >"$folder/out" 2>&1 || status=$?
  [ "$status" -eq 2 ] || complain "$*: expected status 2, got $status"
  [ "$(wc -l <"$folder/out")" -eq 1 ] || complain "$*: expected one line"
  grep -q -- "$word" "$folder/out" || complain "$*: expected a line with '$word'"
  [ ! -s "$machine/calls" ] || complain "$*: something was called"
  [ ! -e "$folder/nights" ] || complain "$*: a folder was made"
}
# with FILE CONTENT refused ...: while that file of the machine is so.
with() {
  local file=$1 before=''
  [ ! -e "$file" ] || before=$(cat "$file")
  printf '%s\n' "$2" >"$file"
  shift 2
  "$@"
  if [ -n "$before" ]; then printf '%s\n' "$before" >"$file"; else rm "$file"; fi
}

refused '--budget 0h' --budget 0h
refused '--budget x' --budget x
refused '--budget -3h' --budget -3h
refused 'expected one of them' --budget 1h --until 07:00
refused '--until 25:00' --until 25:00
# In the hour that spring skips; no more when it is past.
real_date=$(command -v date)
export real_date
fake date <<'FAKE'
case "$*" in
  *'-d 02:30 '* | *'today 02:30'* | *"${skipped_tomorrow:-tomorrow 02:30}"*) echo "date: invalid date" >&2; exit 1 ;;
  +%H:%M) echo "${clock:-01:00}" ;;
  *) exec "$real_date" "$@" ;;
esac
FAKE
refused '--until 02:30' --until 02:30
clock=09:00 refused '--until 02:30' --until 02:30
clock=09:00 skipped_tomorrow=never "${night[@]}" --dry-run --until 02:30 >"$folder/out" 2>&1 || complain "--until 02:30 on the next day: refused"
grep -q "would tune until .* 02:30:00" "$folder/out" || complain "--until 02:30 on the next day: expected that time"
rm "$folder/bin/date"
hash -r
refused '--power-mode MAXN' --power-mode MAXN
refused 'expected a value' --db
refused '--keep 0' --keep 0
refused 'no such program' --tilesmith "$folder/nothing"
refused 'expected at least 999999 GiB' --min-disk 999999
with "$machine/heat" 91 refused 'at 91 C, expected below 70'
with "$machine/throttled" '' refused 'the GPU is throttled: gpu-throttle-alert'
with "$machine/no_gpu" '' refused 'no GPU: no driver'
with "$machine/no_nvrtc" '' refused 'no NVRTC: libnvrtc.so was not found'
with "$folder/tuned.db" broken refused 'tuned.db: the database is corrupt'
touch "$machine/user" "$machine/no_sudo"
status=0
"${night[@]}" --power-mode 0 >"$folder/out" 2>&1 </dev/null || status=$?
if [ "$status" -ne 2 ] || ! grep -q 'need root' "$folder/out"; then complain "a user who may not become root: expected to be told"; fi
[ ! -e "$folder/nights" ] || complain "a user who may not become root: a folder was made"
rm "$machine/user" "$machine/no_sudo"

mkdir -p "$folder/root/etc"
printf '< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=2 NAME=MODE_30W >\n' >"$folder/root/etc/nvpmodel.conf"
export TILESMITH_SYSFS_ROOT=$folder/root
refused 'expected one of 0 (MAXN), 2 (MODE_30W)' --power-mode 7
unset TILESMITH_SYSFS_ROOT

# These are seen only when it is tried; everything is then as it was, and nothing was tuned.
failed() {
  local word=$1 status=0
  shift
  "${night[@]}" "$@" >"$folder/out" 2>&1 || status=$?
  [ "$status" -eq 2 ] || complain "$*: expected status 2, got $status"
  grep -q -- "$word" "$folder/out" || complain "$*: expected '$word'"
  is_put_back || complain "$*: not as before"
  [ ! -e "$machine/tuner" ] || complain "$*: tuned all the same"
}
with "$machine/needs_reboot" '' failed 'where that needs a reboot' --power-mode 0
[ ! -e "$machine/rebooted" ] || complain "agreed to a reboot"
# Also where the holder has ended before its answer is read: bash then forgets its pipe.
held_late() {
  local status=0
  # shellcheck disable=SC2016  # of the script
  night_where 'holder=$!' 'sleep 1' --power-mode 0 >"$folder/out" 2>&1 || status=$?
  [ "$status" -eq 2 ] || complain "a holder that ends at once: expected status 2, got $status"
  grep -q 'where that needs a reboot' "$folder/out" || complain "a holder that ends at once: its reason is not told"
  [ ! -e "$machine/tuner" ] || complain "a holder that ends at once: tuned all the same"
}
with "$machine/needs_reboot" '' held_late
fake jetson_clocks <<<'exit 1'
failed 'jetson_clocks --store failed' --power-mode 0 --lock-clocks
