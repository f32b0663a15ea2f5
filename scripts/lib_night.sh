# shellcheck shell=bash
# What nights of tuning share. Sourced by overnight_orin.sh and fleet_ssh.sh, never run. What is wrong ends the script with one line.
# shellcheck disable=SC2154  # budget, until_time, db, out, min_disk_gb, max_heat_c, tilesmith, hold_options, dry_run: the script's options

# at DAY: that time of day; nothing in the hour that spring skips.
at() { date -d "$1 $until_time" +%s 2>/dev/null || true; }

# When to end by --until or --budget (8h), in seconds since the epoch.
end_time() {
  local now seconds=0 end padded
  now=$(date +%s)
  if [ -n "$until_time" ]; then
    [ -z "$budget" ] || fail "--until and --budget: expected one of them"
    [[ $until_time =~ ^([01]?[0-9]|2[0-3]):[0-5][0-9]$ ]] || fail "--until $until_time: expected a time of day, HH:MM"
    end=$(at today)
    # Over for today, even where spring skipped it.
    padded=0$until_time
    if [[ -z $end && ! $(date +%H:%M) < ${padded: -5} ]] || { [ -n "$end" ] && [ "$end" -le "$now" ]; }; then end=$(at tomorrow); fi
    [[ $end =~ ^[0-9]+$ ]] || fail "--until $until_time: clocks are put forward then, expected a time of day that there is"
  else
    if [[ ${budget:-8h} =~ ^(([0-9]{1,3})d)?(([0-9]{1,4})h)?(([0-9]{1,6})m)?(([0-9]{1,8})s)?$ ]]; then
      seconds=$((10#${BASH_REMATCH[2]:-0} * 86400 + 10#${BASH_REMATCH[4]:-0} * 3600 + 10#${BASH_REMATCH[6]:-0} * 60 + 10#${BASH_REMATCH[8]:-0}))
    fi
    [ "$seconds" -ge 1 ] || fail "--budget $budget: expected a time above 0 such as 90m, 8h or 7h30m"
    end=$((now + seconds))
  fi
  echo "$end"
}

# Sets tilesmith to the program, unless --tilesmith named it.
find_tilesmith() {
  local candidate
  if [ -z "$tilesmith" ]; then
    for candidate in "$BUILD_DIR/bin/tilesmith" "$ROOT/../../bin/tilesmith" "$(command -v tilesmith || true)"; do
      if [ -x "$candidate" ]; then tilesmith=$candidate && return; fi
    done
    fail "tilesmith: no such program in $BUILD_DIR/bin or PATH; build it (scripts/setup.sh), or name it with --tilesmith"
  fi
  [ -x "$tilesmith" ] || fail "--tilesmith $tilesmith: no such program"
}

# The nearest folder above a path that is there.
folder_there() {
  local path=$1
  while [ ! -d "$path" ]; do path=$(dirname "$path"); done
  echo "$path"
}

# check_disk PATH OPTION
check_disk() {
  local folder free_kib
  folder=$(folder_there "$1")
  free_kib=$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')
  [[ $free_kib =~ ^[0-9]+$ ]] || fail "$folder: df does not tell its free space"
  [ "$free_kib" -ge $((min_disk_gb * 1024 * 1024)) ] ||
    fail "$2 $1: $((free_kib / 1024)) MiB free in $folder, expected at least $min_disk_gb GiB (--min-disk)"
  [ -w "$folder" ] || fail "$2 $1: $folder is not writable"
}

# One fact a line, "name=value", from the JSON of `tilesmith devices`.
facts_in() {
  python3 -c '
import json, sys
facts = json.load(sys.stdin)
device = (facts["present"] or [{}])[0]
jetson = facts.get("jetson") or {}
clock = jetson.get("gpu_clock") or {}
def put(name, value):
    print(name + "=" + " ".join(str("" if value is None else value).split()))
put("device", device.get("name"))
put("device_text", device.get("text"))
put("device_missing", facts.get("absent_because"))
put("nvrtc", facts["nvrtc"]["version"])
put("nvrtc_missing", facts["nvrtc"]["absent_because"])
put("power_mode", jetson.get("power_mode"))
put("hottest_c", None if jetson.get("hottest_c") is None else int(jetson["hottest_c"]))
put("throttled", jetson.get("throttled_because"))
if clock.get("mhz"):
    put("clocks", "{:g} MHz{}".format(clock["mhz"], ", locked" if clock.get("locked") else ", not locked"))
'
}

# Sets device, device_text (both change with the power mode), power_mode, clocks, hottest_c, throttled, nvrtc.
# shellcheck disable=SC2034  # some are used by the script that sources this
read_machine() {
  local text facts name value
  device='' device_text='' device_missing='' power_mode='' clocks='' hottest_c='' throttled='' nvrtc='' nvrtc_missing=''
  # This also opens the database, if there is one yet, and has SQLite check it; what is wrong is said in one line.
  if ! text=$(TILESMITH_DB=$db "$tilesmith" devices --format json 2>/dev/null); then
    fail "$(TILESMITH_DB=$db "$tilesmith" devices --format json 2>&1 >/dev/null | tail -n 1)"
  fi
  facts=$(facts_in <<<"$text" 2>/dev/null) || fail "$tilesmith devices --format json: expected JSON, got: $(head -n 1 <<<"$text")"
  while IFS='=' read -r name value; do printf -v "$name" '%s' "$value"; done <<<"$facts"
}

check_machine() {
  have python3 || fail "python3 is not installed"
  check_disk "$db" --db
  check_disk "$out" --out
  read_machine
  [ -n "$device" ] || fail "no GPU: ${device_missing:-not told why}"
  [ -n "$nvrtc" ] || fail "no NVRTC: ${nvrtc_missing:-not told why}"
  [ -z "$hottest_c" ] || [ "$hottest_c" -lt "$max_heat_c" ] ||
    fail "the machine is at $hottest_c C, expected below $max_heat_c (--max-heat): let it cool"
  [ -z "$throttled" ] || fail "the GPU is throttled: $throttled"
  check_power_mode_exists
  if [ ${#hold_options[@]} -gt 0 ] && [ ${#as_root[@]} -gt 0 ] && ! $dry_run; then
    "${as_root[@]}" true || fail "--power-mode and --lock-clocks need root: run it as root or where sudo can ask for a password"
  fi
}

# Where nvpmodel's configuration can be read, --power-mode must be in it.
check_power_mode_exists() {
  local conf=${TILESMITH_SYSFS_ROOT:-}/etc/nvpmodel.conf modes mode i
  [ -r "$conf" ] || return 0
  for ((i = 0; i < ${#hold_options[@]}; i++)); do
    [ "${hold_options[i]}" = --power-mode ] || continue
    mode=$((10#${hold_options[i + 1]}))
    modes=$(sed -nE 's/^ *< *POWER_MODEL .*ID=([0-9]+) .*NAME=([^ >]+).*/\1 (\2)/p' "$conf")
    grep -q "^$mode (" <<<"$modes" || fail "--power-mode $mode: expected one of $(paste -sd, <<<"$modes" | sed 's/,/, /g') ($conf)"
  done
}
