#!/usr/bin/env bash
# Tunes through the night on a Jetson AGX Orin: checks the machine, holds its power mode and clocks if asked to, keeps it
# awake, tunes within a budget, and in the morning writes the report and a bundle for the runtime library. Power mode and
# clocks are put back however the night ends: at its end, at a signal, after kill -9 (hold_machine.sh sees to it), and at
# the next start after a power cut. Record is kept as it comes: the same command again goes on where it ended.
#
# Usage: overnight_orin.sh [OPTION]... [-- OPTION OF `tilesmith tune`...]
#   --budget TIME      tune for so long: 90m, 8h, 7h30m (default: 8h)
#   --until HH:MM      or until that time of day
#   --power-mode N     hold this power mode (nvpmodel's number); needs root, or sudo, which may ask for a password at the start
#   --lock-clocks      hold the highest clocks of the mode (jetson_clocks); needs the same
#   --db FILE          the database (default: $TILESMITH_DB, else ~/.local/share/tilesmith/tuned.db)
#   --out FOLDER       logs, report and bundle go to a folder a night in it (default: ~/.local/state/tilesmith/overnight)
#   --keep N           of these folders keep the newest N (default: 14)
#   --min-disk GB      refuse to start with less than this free for database and logs (default: 2)
#   --max-heat C       refuse to start if a sensor is hotter (default: 70, where an Orin's hot-surface alert begins)
#   --tilesmith FILE   the program (default: the build folder's, that beside an installed script, or the one in PATH)
#   --dry-run          check, say what would be done, and change nothing
# What follows -- goes to `tilesmith tune` (default: --workload orin-perception).
# Environment: TILESMITH_DB, TILESMITH_BUILD_DIR, TILESMITH_SYSFS_ROOT (see `tilesmith devices --help`), TILESMITH_STATE_DIR
# (see hold_machine.sh --help).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/lib_night.sh
. "$ROOT/scripts/lib_night.sh"
HOLD=$ROOT/scripts/hold_machine.sh
MOST_STARTS=5        # of a tuner that crashes
LEAST_SECONDS=60     # with less left, it is not started again
GRACE_SECONDS=600    # a tuner that is so late is killed

budget=''
until_time=''
db=${TILESMITH_DB:-${XDG_DATA_HOME:-${HOME:-/root}/.local/share}/tilesmith/tuned.db}
out=${XDG_STATE_HOME:-${HOME:-/root}/.local/state}/tilesmith/overnight
keep=14
min_disk_gb=2
max_heat_c=70
tilesmith=''
dry_run=false
hold_options=()
tune_options=(--workload orin-perception)

whole_number() { [[ $2 =~ ^[0-9]{1,6}$ ]] || fail "$1 $2: expected a whole number"; }

while [ $# -gt 0 ]; do
  case "$1" in
    --budget | --until | --power-mode | --db | --out | --keep | --min-disk | --max-heat | --tilesmith)
      if [ $# -lt 2 ] || [ -z "$2" ]; then fail "$1: expected a value after it"; fi
      case "$1" in
        --budget) budget=$2 ;;
        --until) until_time=$2 ;;
        --power-mode) whole_number "$1" "$2"; hold_options+=("$1" "$2") ;;
        --db) db=$2 ;;
        --out) out=$2 ;;
        --keep) whole_number "$1" "$2"; keep=$((10#$2)) ;;
        --min-disk) whole_number "$1" "$2"; min_disk_gb=$((10#$2)) ;;
        --max-heat) whole_number "$1" "$2"; max_heat_c=$((10#$2)) ;;
        --tilesmith) tilesmith=$2 ;;
      esac
      shift
      ;;
    --lock-clocks) hold_options+=(--lock-clocks) ;;
    --dry-run) dry_run=true ;;
    --) shift; [ $# -eq 0 ] || tune_options=("$@"); break ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done
[ "$keep" -ge 1 ] || fail "--keep $keep: expected at least 1"

ends_at=$(end_time) || exit 2

find_tilesmith

# What root must do is done through this. sudo may ask for a password only now, where someone can answer: the holder then
# stays root through the night.
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo)
  [ -t 0 ] || as_root+=(-n)
  as_root+=(env "PATH=$PATH" ${TILESMITH_STATE_DIR:+"TILESMITH_STATE_DIR=$TILESMITH_STATE_DIR"})
fi
check_machine

machine_line() { echo "${device:?}; power mode ${power_mode:-not told}; GPU clock ${clocks:-not told}; hottest ${hottest_c:--} C; NVRTC $nvrtc"; }
if $dry_run; then
  say "$(machine_line)"
  say "would tune until $(date -d "@$ends_at" '+%F %H:%M:%S'): $tilesmith tune ${tune_options[*]} --db $db"
  "$HOLD" --dry-run ${hold_options[@]+"${hold_options[@]}"}
  say "would then write log, report and bundle to a new folder in $out, and keep the newest $keep there"
  exit 0
fi

began=$(date +%s)
folder=$out/$(date -d "@$began" '+%Y%m%d-%H%M%S')
mkdir -p "$out" "$(dirname "$db")" || exit 2
exec 8>"$out/lock"
flock -w 5 8 || fail "$out/lock: another night is at work there"
mkdir -p "$folder" || exit 2
tell() { say "$*"; printf '%s %s\n' "$(date '+%F %T')" "$*" >>"$folder/overnight.log" || true; }

# --- holding the machine ----------------------------------------------------------------------------------------------
life=''     # our end of the holder's pipe: nobody else may have it
holder=''
tuner=''
interrupted=''

start_holder() {
  local answer='' from reason root=() hold=("$HOLD" ${hold_options[@]+"${hold_options[@]}"})
  local inhibit=(systemd-inhibit --what=sleep:idle --who=Tilesmith --why=tuning --mode=block)
  if [ ${#hold_options[@]} -gt 0 ]; then root=(${as_root[@]+"${as_root[@]}"}); fi
  if have systemd-inhibit && ${root[@]+"${root[@]}"} "${inhibit[@]}" true 2>/dev/null; then
    hold=("${inhibit[@]}" "${hold[@]}")
  else
    warn "systemd-inhibit does not work here: see to it that the machine does not fall asleep"
  fi
  coproc HOLDER { exec ${root[@]+"${root[@]}"} setsid --wait "${hold[@]}" 2>>"$folder/machine.log"; }
  holder=$!
  from=${HOLDER[0]:-}  # unset as soon as it has ended
  life=${HOLDER[1]:-}
  { [ -z "$from" ] || IFS= read -r -t 300 answer <&"$from"; } 2>/dev/null || true
  [ "$answer" != held ] || return 0
  reason=$(tail -n 1 "$folder/machine.log" 2>/dev/null | sed 's/^hold_machine.sh: //') || true
  fail "${reason:-hold_machine.sh did not hold the machine, and does not say why}"
}

# Ends the holding. If the holder was killed, its work is done here.
release() {
  [ -n "$holder" ] || return 0
  [ -z "$life" ] || { exec {life}>&-; } 2>/dev/null || true
  local status=0
  wait "$holder" 2>/dev/null || status=$?
  life='' holder=''
  if [ "$status" -ne 0 ] && [ ${#hold_options[@]} -gt 0 ]; then
    ${as_root[@]+"${as_root[@]}"} "$HOLD" --put-back 2>>"$folder/machine.log" </dev/null ||
      tell "power mode and clocks may not be put back; run as root: $HOLD --put-back"
  fi
  if [ -s "$folder/machine.log" ]; then tell "$(tail -n 1 "$folder/machine.log")"; fi
}

# shellcheck disable=SC2317  # the traps below call it
on_signal() {
  interrupted=$1
  if [ -n "$tuner" ]; then kill -TERM "$tuner" 2>/dev/null || true; fi
}
trap 'on_signal 130' INT
trap 'on_signal 143' TERM
trap 'on_signal 129' HUP
trap release EXIT

# --- tuning ------------------------------------------------------------------------------------------------------------
# If this script is killed, so is the tuner: nothing may be timed on a machine whose settings are being put back.
dies_with_us=()
if have setpriv && setpriv --pdeathsig KILL true 2>/dev/null; then dies_with_us=(setpriv --pdeathsig KILL); fi

# tune_once SECONDS: its exit status.
tune_once() {
  local status
  (
    exec {life}>&-
    exec ${dies_with_us[@]+"${dies_with_us[@]}"} timeout -k 60 "$(($1 + GRACE_SECONDS))" \
      ${dies_with_us[@]+"${dies_with_us[@]}"} "$tilesmith" tune "${tune_options[@]}" --db "$db" --budget "${1}s" --log "$folder/tune.log"
  ) >"$folder/bests.txt" &
  tuner=$!
  [ -z "$interrupted" ] || kill -TERM "$tuner" 2>/dev/null || true  # the signal may have come before there was a tuner to tell
  while :; do  # a signal ends the wait, not the tuner
    status=0
    wait "$tuner" || status=$?
    kill -0 "$tuner" 2>/dev/null || break
  done
  tuner=''
  return "$status"
}

tune_through_the_night() {
  local start left status
  for ((start = 1; start <= MOST_STARTS; start++)); do
    left=$((ends_at - $(date +%s)))
    if [ -n "$interrupted" ] || { [ "$start" -gt 1 ] && [ "$left" -lt "$LEAST_SECONDS" ]; }; then break; fi
    [ "$left" -ge 1 ] || left=1
    status=0
    tune_once "$left" || status=$?
    case $status in
      0) return 0 ;;
      2) return 2 ;;  # bad input: no second try would help
      3) return 3 ;;  # done, but for problems that it set aside: nor here
      *) [ -n "$interrupted" ] || tell "tilesmith tune ended with status $status; records are kept" ;;
    esac
  done
  [ -z "$interrupted" ] || return "$interrupted"
  return 1
}

# --- the morning -------------------------------------------------------------------------------------------------------
# False if what should be there is not.
write_results() {
  local whole=0
  # A night may be several runs.
  "$tilesmith" report --db "$db" --since "$(date -u -d "@$began" '+%FT%H:%M')" --out "$folder/report.html" ||
    { tell "no report: tilesmith report failed"; whole=1; }
  "$tilesmith" export --format bundle --db "$db" --device "$device_text" --output "$folder/tuned.tsb" ||
    { tell "no bundle: tilesmith export failed"; whole=1; }
  return "$whole"
}

# Only folders that are named as ours are removed.
remove_old_folders() {
  local old
  find "$out" -mindepth 1 -maxdepth 1 -type d -name '[0-9]*-[0-9]*' | grep -E '/[0-9]{8}-[0-9]{6}$' | sort -r | tail -n "+$((keep + 1))" |
    while IFS= read -r old; do rm -rf "$old"; done
}

tell "tuning until $(date -d "@$ends_at" '+%F %H:%M:%S'); logs in $folder"
start_holder
read_machine  # as it is held
tell "$(machine_line)"
status=0
tune_through_the_night || status=$?
release
[ ! -e "$folder/bests.txt" ] || cat "$folder/bests.txt"
if [ -n "$interrupted" ]; then
  remove_old_folders
  tell "interrupted; the same command goes on from here"
  exit "$interrupted"
fi
case $status in
  0) ;;
  3) tell "problems were set aside, as measuring failed there; $folder/tune.log names them" ;;
  *) fail "tilesmith tune failed (status $status); see $folder/tune.log" ;;
esac
write_results || status=1
remove_old_folders
tell "done; see $folder"
exit "$status"
