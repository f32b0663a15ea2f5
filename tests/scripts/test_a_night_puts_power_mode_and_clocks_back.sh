#!/usr/bin/env bash
# However a night ends (at its end, at SIGTERM, after kill -9 of the script or of what holds the machine, after a power
# cut), power mode and clocks are as they were, and no tuner is left.
set -euo pipefail
# shellcheck source=tests/scripts/fake_orin.sh
. "$(dirname "${BASH_SOURCE[0]}")/fake_orin.sh"

in_background() {
  "${night[@]}" --budget 1h --power-mode 0 --lock-clocks >"$folder/out" 2>&1 &
  script=$!
  eventually test -s "$machine/tuner" || complain "the tuner was not started"
  is_held || complain "power mode and clocks are not held while tuning"
}
begin() {
  rm -rf "$machine/tuner" "$folder/nights"
  : >"$machine/calls"
  "$@"
}
tuner_is_gone() { ! kill -0 "$(cat "$machine/tuner")" 2>/dev/null; }

# A dry run: nothing is written, nothing is called.
before=$(find "$folder" -type f -exec md5sum {} + | sort)
"${night[@]}" --budget 1h --power-mode 0 --lock-clocks --dry-run >"$folder.out" 2>&1 || { cat "$folder.out"; exit 1; }
mv "$folder.out" "$folder/out"
for word in 'nvpmodel -m 0' 'nvpmodel -m 2 at the end' 'jetson_clocks --restore' 'tune --workload orin-perception'; do
  grep -q -- "$word" "$folder/out" || complain "the dry run does not say '$word'"
done
mv "$folder/out" "$folder.out"
[ "$before" = "$(find "$folder" -type f -exec md5sum {} + | sort)" ] || { echo "the dry run changed files"; exit 1; }
[ ! -e "$folder/nights" ] || { echo "the dry run made a folder"; exit 1; }
rm "$folder.out"

begin "${night[@]}" --budget 1h --power-mode 0 --lock-clocks >"$folder/out" 2>&1 || complain "a night failed"
called 'tuned in mode 0, clocks locked' || complain "tuned without power mode and clocks"
called inhibited || complain "the machine was not kept awake"
is_put_back || complain "not put back at the end"
called 'export .*--device Orin in mode 0' || complain "the bundle is not that of the mode that was tuned in"
results=("$folder"/nights/*/tuned.tsb)
[ -s "${results[0]}" ] || complain "no bundle"
[ -s "$(dirname "${results[0]}")/report.html" ] || complain "no report"

touch "$machine/slow"
begin in_background
kill -TERM "$script"
status=0
wait "$script" || status=$?
[ "$status" -eq 143 ] || complain "SIGTERM: exit status $status, expected 143"
is_put_back || complain "not put back after SIGTERM"
called 'tuner ended cleanly' || complain "the tuner was not asked to end"

begin in_background
kill -KILL "$script"
eventually is_put_back || complain "not put back after kill -9 of the script"
if setpriv --pdeathsig KILL true 2>/dev/null; then eventually tuner_is_gone || complain "the tuner outlives the script"; fi

# Also where the tuner lives on: it has no part in the pipe that the holder watches.
fake setpriv <<<'exit 1'
begin in_background
kill -KILL "$script"
eventually is_put_back || complain "not put back after kill -9 while the tuner lives on"
kill "$(cat "$machine/tuner")"
rm "$folder/bin/setpriv"

begin in_background
holder=$(pgrep -P "$script" -f hold_machine.sh)
kill -KILL "$holder"
kill -TERM "$script"
wait "$script" || true
is_put_back || complain "not put back after kill -9 of the holder"

# Before there is a tuner to tell. Old folders are removed all the same.
interrupted_before() {
  local status=0
  mkdir -p "$folder/nights/20200101-000000"
  # shellcheck disable=SC2016  # of the script
  night_where "$1" "kill -$2"' $$' --budget 1h --power-mode 0 --lock-clocks --keep 1 >"$folder/out" 2>&1 || status=$?
  [ "$status" -eq "$3" ] || complain "$2 before '$1': exit status $status, expected $3"
  grep -q 'interrupted; the same command goes on from here' "$folder/out" || complain "$2 before '$1' is not told"
  is_put_back || complain "not put back after $2 before '$1'"
  [ ! -e "$folder/nights/20200101-000000" ] || complain "$2 before '$1': an old folder was kept"
}
begin interrupted_before start_holder INT 130
[ ! -e "$machine/tuner" ] || complain "tuned after a signal"
# shellcheck disable=SC2016  # a command of the script
begin interrupted_before 'tuner=$!' TERM 143

# The same for a user who may become root.
touch "$machine/user"
begin in_background
kill -KILL "$script"
eventually is_put_back || complain "a user: not put back after kill -9 of the script"
begin in_background
kill -TERM "$script"
wait "$script" || true
is_put_back || complain "a user: not put back after SIGTERM"
rm "$machine/user"

# A power cut: settings changed, state left, nobody there.
rm "$machine/slow"
printf 'power_mode=2\nclocks=stored\n' >"$folder/state/held_settings"
echo free >"$folder/state/stored_clocks"
echo 3 >"$machine/mode"
echo locked >"$machine/clocks"
begin "${night[@]}" --budget 1h >"$folder/out" 2>&1 || complain "a night after a power cut failed"
called 'tuned in mode 2, clocks free' || complain "not put back before tuning after a power cut"
is_put_back || complain "not put back after a power cut"

printf 'power_mode=2\n' >"$folder/state/held_settings"
echo 3 >"$machine/mode"
bash "$root/scripts/hold_machine.sh" --put-back 2>"$folder/out" || complain "--put-back failed"
is_put_back || complain "--put-back did not"

printf 'nonsense\n' >"$folder/state/held_settings"
status=0
bash "$root/scripts/hold_machine.sh" --put-back 2>"$folder/out" || status=$?
if [ "$status" -ne 2 ] || [ "$(wc -l <"$folder/out")" -ne 1 ]; then complain "a damaged state: expected one line and status 2"; fi
