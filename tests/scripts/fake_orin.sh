# shellcheck shell=bash
# A made-up Orin for the tests of the night's scripts: nvpmodel, jetson_clocks, systemd-inhibit, tilesmith and others, in a
# folder that comes first in PATH. Sourced with the tree's root in $1. The machine's settings are files in $machine.

root=$1
folder=$(mktemp -d)
machine=$folder/machine
export machine
mkdir -p "$folder/bin" "$folder/state" "$machine"
echo 2 >"$machine/mode"
echo free >"$machine/clocks"
echo 48 >"$machine/heat"
: >"$machine/calls"

fake() {
  { printf '#!/usr/bin/env bash\n'; cat; } >"$folder/bin/$1"
  chmod +x "$folder/bin/$1"
}
fake id <<'FAKE'
if [ -e "$machine/user" ] && [ -z "${FAKE_ROOT:-}" ]; then echo 1000; else echo 0; fi
FAKE
fake sudo <<'FAKE'
[ ! -e "$machine/no_sudo" ] || { echo "sudo: a password is required" >&2; exit 1; }
while [[ $1 == -* ]]; do shift; done
FAKE_ROOT=1 exec "$@"
FAKE
fake nvpmodel <<'FAKE'
case "$1" in
  -q) printf 'NVPM WARN: fan mode is not set!\nNV Power Mode: MODE\n%s\n' "$(cat "$machine/mode")" ;;
  -m)
    echo "nvpmodel $*" >>"$machine/calls"
    if [ -e "$machine/needs_reboot" ]; then
      echo "NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:"
      read -r answer
      [ "$answer" != yes ] || touch "$machine/rebooted"
      exit 0
    fi
    echo "$2" >"$machine/mode"
    ;;
esac
FAKE
fake jetson_clocks <<'FAKE'
echo "jetson_clocks $*" >>"$machine/calls"
case "${1:-}" in
  --store) [ ! -e "$2" ] || exit 1; cp "$machine/clocks" "$2" ;;
  --restore) cp "$2" "$machine/clocks" ;;
  *) echo locked >"$machine/clocks" ;;
esac
FAKE
fake systemd-inhibit <<'FAKE'
while [[ $1 == --* ]]; do shift; done
[ "$1" = true ] || echo inhibited >>"$machine/calls"
exec "$@"
FAKE
fake tilesmith <<'FAKE'
command=$1
shift
value_of() { local name=$1; shift; while [ $# -gt 1 ]; do [ "$1" != "$name" ] || { echo "$2"; return; }; shift; done; }
case "$command" in
  devices)
    if grep -q broken "$TILESMITH_DB" 2>/dev/null; then
      echo "tilesmith devices: $TILESMITH_DB: the database is corrupt" >&2
      exit 2
    fi
    present='[{"name": "Orin", "text": "Orin in mode '$(cat "$machine/mode")'"}]'
    [ ! -e "$machine/no_gpu" ] || present='[]'
    nvrtc='{"version": "12.6", "absent_because": null}'
    [ ! -e "$machine/no_nvrtc" ] || nvrtc='{"version": null, "absent_because": "libnvrtc.so was not found"}'
    throttled=null
    [ ! -e "$machine/throttled" ] || throttled='"gpu-throttle-alert is on"'
    printf '{"present": %s, "absent_because": "no driver", "nvrtc": %s, "jetson": {"power_mode": "MAXN", "hottest_c": %s.9,
      "throttled_because": %s, "gpu_clock": {"mhz": 1300.5, "locked": false}}, "known": []}' "$present" "$nvrtc" "$(cat "$machine/heat")" "$throttled"
    ;;
  tune)
    echo "tune $*" >>"$machine/calls"
    echo "tuned in mode $(cat "$machine/mode"), clocks $(cat "$machine/clocks")" >>"$machine/calls"
    echo "table of bests"
    echo records >>"$(value_of --db "$@")"
    echo $$ >"$machine/tuner"
    if [ -e "$machine/slow" ]; then
      trap 'kill $!; echo "tuner ended cleanly" >>"$machine/calls"; exit 143' TERM
      sleep 60 &
      wait
    fi
    [ ! -e "$machine/set_aside" ] || exit 3
    if [ -s "$machine/crashes" ]; then
      sed -i 1d "$machine/crashes"
      exit 139
    fi
    ;;
  report)
    [ ! -e "$machine/no_report" ] || exit 2
    echo "report $*" >>"$machine/calls"
    echo report >"$(value_of --out "$@")"
    ;;
  export) echo "export $*" >>"$machine/calls"; echo bundle >"$(value_of --output "$@")" ;;
esac
FAKE

# night_where COMMAND ACTION OPTION...: a night in which ACTION happens just before the script runs COMMAND the first time.
night_where() {
  printf 'awaited=%q action=%q\n' "$1" "$2" >"$folder/before.sh"
  cat >>"$folder/before.sh" <<'BEFORE'
if [ "${0##*/}" = overnight_orin.sh ]; then
  set -T
  trap 'if [ "$BASH_COMMAND" = "$awaited" ] && [ "$BASHPID" = "$$" ]; then trap - DEBUG; eval "$action"; fi' DEBUG
fi
BEFORE
  shift 2
  BASH_ENV=$folder/before.sh timeout 30 "${night[@]}" "$@"
}

export PATH=$folder/bin:$PATH TILESMITH_STATE_DIR=$folder/state XDG_STATE_HOME=$folder/home XDG_DATA_HOME=$folder/home
unset TILESMITH_DB TILESMITH_SYSFS_ROOT
# shellcheck disable=SC2034  # used by the tests that source this
night=(bash "$root/scripts/overnight_orin.sh" --tilesmith "$folder/bin/tilesmith" --db "$folder/tuned.db" --out "$folder/nights")

# shellcheck disable=SC2317
clean_up() {
  local pid
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null || true; done
  wait || true  # a night that ends still writes here
  rm -rf "$folder"
}
trap clean_up EXIT

complain() {
  echo "$1"
  for file in "$folder/out" "$machine/calls" "$folder"/nights/*/machine.log; do
    [ ! -e "$file" ] || sed "s|^|$(basename "$file"): |" "$file"
  done
  exit 1
}
# eventually COMMAND...: true within ten seconds.
eventually() {
  local i
  for ((i = 0; i < 100; i++)); do
    if "$@"; then return; fi
    sleep 0.1
  done
  return 1
}
is_put_back() { [ "$(cat "$machine/mode")" = 2 ] && [ "$(cat "$machine/clocks")" = free ] && [ ! -e "$folder/state/held_settings" ]; }
is_held() { [ "$(cat "$machine/mode")" = 0 ] && [ "$(cat "$machine/clocks")" = locked ]; }
called() { grep -q -- "$1" "$machine/calls"; }
