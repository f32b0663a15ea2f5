#!/usr/bin/env bash
# Sets a Jetson's power mode and locks its clocks, prints "held", and holds them until its standard input ends; then puts
# both back as they were. Whoever starts it keeps the other end of a pipe open: however that process ends, kill -9
# included, the settings are put back. What is to be put back is written to disk before anything is changed, so that the
# next call puts back what a power cut left.
#
# Usage: hold_machine.sh [--power-mode N] [--lock-clocks] [--dry-run] [--help]
#        hold_machine.sh --put-back
#   --power-mode N   nvpmodel's number of the mode to hold
#   --lock-clocks    hold the highest clocks of the mode (jetson_clocks)
#   --dry-run        say what would be done, and change nothing
#   --put-back       put back what a run that was cut off left, and end
# Environment: TILESMITH_STATE_DIR, where what is to be put back is kept (default: /var/lib/tilesmith).

set -uo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

STATE_DIR=${TILESMITH_STATE_DIR:-/var/lib/tilesmith}
STATE=$STATE_DIR/held_settings    # lines "power_mode=N" and "clocks=stored"
CLOCKS=$STATE_DIR/stored_clocks   # written by jetson_clocks
TOOL_SECONDS=60                   # no tool below takes as long

mode=''
lock=false
dry_run=false
put_back_only=false
while [ $# -gt 0 ]; do
  case "$1" in
    --power-mode)
      [ $# -ge 2 ] || fail "$1: expected a number after it"
      mode=$2
      [[ $mode =~ ^[0-9]{1,3}$ ]] || fail "--power-mode $mode: expected a mode's number (see nvpmodel -q)"
      mode=$((10#$mode))
      shift
      ;;
    --lock-clocks) lock=true ;;
    --dry-run) dry_run=true ;;
    --put-back) put_back_only=true ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done

# Nobody may be left to read what is said.
note() { printf '%s %s\n' "$(date '+%F %T')" "$*" >&2 || true; } 2>/dev/null

# run_tool COMMAND...: answers "no" to all that is asked (nvpmodel wants to reboot for some modes); what it says goes to
# our error output.
run_tool() { timeout "$TOOL_SECONDS" "$@" <<<no >&2; }

power_mode_now() { timeout "$TOOL_SECONDS" nvpmodel -q </dev/null 2>/dev/null | grep -Ex '[0-9]{1,3}' | tail -n 1; }

# nvpmodel's exit status says little: whether the mode is set is asked.
set_power_mode() {
  run_tool nvpmodel -m "$1"
  [ "$(power_mode_now)" = "$1" ]
}

# remember LINE: adds a line to the state, so that it survives a power cut.
remember() {
  if ! { [ ! -e "$STATE" ] || cat "$STATE"; printf '%s\n' "$1"; } >"$STATE.new" ||
    ! sync "$STATE.new" || ! mv "$STATE.new" "$STATE" || ! sync "$STATE_DIR"; then
    put_back
    fail "$STATE: cannot be written; nothing is held"
  fi
}

# In the reverse of the order of holding. What cannot be put back stays remembered.
put_back() {
  [ -e "$STATE" ] || return 0
  local line old_mode='' clocks=false
  while IFS= read -r line; do
    case "$line" in
      power_mode=*) old_mode=${line#power_mode=} ;;
      clocks=stored) clocks=true ;;
      *) line='' ;;
    esac
    if [ -z "$line" ] || ! [[ $old_mode =~ ^[0-9]{0,3}$ ]]; then
      fail "$STATE: expected lines power_mode=N and clocks=stored; put power mode and clocks back by hand, then remove this file"
    fi
  done <"$STATE"
  if $clocks && ! run_tool jetson_clocks --restore "$CLOCKS"; then
    fail "the clocks could not be put back; do so by hand: sudo jetson_clocks --restore $CLOCKS"
  fi
  if [ -n "$old_mode" ] && ! set_power_mode "$old_mode"; then
    fail "the power mode could not be put back to $old_mode; do so by hand, it may need a reboot: sudo nvpmodel -m $old_mode"
  fi
  rm -f "$STATE" "$CLOCKS"
  note "put back:${old_mode:+ power mode $old_mode}$($clocks && echo ' clocks')"
}

hold_power_mode() {
  local now
  now=$(power_mode_now)
  [ -n "$now" ] || fail "--power-mode: nvpmodel -q does not tell the present mode"
  [ "$now" != "$mode" ] || return 0
  remember "power_mode=$now"
  set_power_mode "$mode" && return 0
  put_back
  fail "--power-mode $mode: nvpmodel did not change to it from $now; where that needs a reboot, run sudo nvpmodel -m $mode, reboot, and start again"
}

hold_clocks() {
  rm -f "$CLOCKS"  # jetson_clocks asks before it overwrites
  if ! run_tool jetson_clocks --store "$CLOCKS" || ! [ -s "$CLOCKS" ] || ! sync "$CLOCKS"; then
    put_back
    fail "--lock-clocks: jetson_clocks --store failed; nothing was locked"
  fi
  remember "clocks=stored"
  run_tool jetson_clocks && return 0
  put_back
  fail "--lock-clocks: jetson_clocks failed"
}

say_what_would_be_done() {
  local now
  [ ! -e "$STATE" ] || say "would first put back what a run that was cut off left ($STATE)"
  if [ -n "$mode" ]; then
    now=$(power_mode_now)
    if [ "$now" = "$mode" ]; then
      say "would leave the power mode at $mode"
    else
      say "would run nvpmodel -m $mode, and nvpmodel -m ${now:-?} at the end"
    fi
  fi
  if $lock; then say "would run jetson_clocks --store $CLOCKS and jetson_clocks, and jetson_clocks --restore $CLOCKS at the end"; fi
}

[ -z "$mode" ] || have nvpmodel || fail "--power-mode: there is no nvpmodel here"
! $lock || have jetson_clocks || fail "--lock-clocks: there is no jetson_clocks here"
if $dry_run; then
  say_what_would_be_done
  exit 0
fi

if [ -n "$mode" ] || $lock || [ -e "$STATE" ]; then
  if [ "$(id -u)" -ne 0 ]; then
    [ ! -e "$STATE" ] || fail "$STATE: a run that was cut off left settings to be put back; run as root: $0 --put-back"
    fail "power mode and clocks are root's to change: run it as root"
  fi
  mkdir -p "$STATE_DIR" || exit 2
  exec 9>"$STATE_DIR/lock"
  flock -w 10 9 || fail "$STATE_DIR/lock: another run holds this machine's settings"
fi
if $put_back_only; then
  put_back
  exit 0
fi

# A closed terminal and its Ctrl-C are the starter's business. SIGTERM ends the holding.
trap '' HUP INT PIPE
trap 'exit 143' TERM
trap 'trap "" TERM; put_back' EXIT
put_back
[ -z "$mode" ] || hold_power_mode
! $lock || hold_clocks
echo held
exec 3<&0
cat <&3 >/dev/null &  # in the background: a trap waits for no foreground program
wait $!
