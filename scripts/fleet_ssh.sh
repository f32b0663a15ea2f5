#!/usr/bin/env bash
# Tunes a workload through the night on boards that ssh reaches (Orins on a desk), a shard each. The kernels that they will try first are
# compiled here beforehand. At dawn what they measured is fetched, merged and reported.
#
# Usage: fleet_ssh.sh --hosts FILE [OPTION]... [-- OPTION OF `tilesmith tune`...]
#   --hosts FILE       a host a line, as ssh takes them (orin-1, user@10.0.0.7); # comments. All are expected to answer at the start
#   --budget TIME      tune for so long: 90m, 8h, 7h30m (default: 8h). It counts from when the tuners start
#   --until HH:MM      or until that time of day, compiling and all
#   --arch ARCH        compile for it here first, with this machine's processors (default: sm_87; none: compile nothing)
#   --first N          so many initial configs of each problem (default: 16)
#   --out FOLDER       what is fetched and merged: HOST.db, tuned.db, report.html (default: ~/.local/state/tilesmith/fleet)
#   --folder FOLDER    the hosts' own folder, below their home (default: .cache/tilesmith-fleet)
#   --program FILE     the program on the hosts (default: tilesmith)
#   --tilesmith FILE   the program here (default: the build folder's, or the one in PATH)
# What follows -- goes to `tilesmith tune` (default: --workload orin-perception). Workload files are sent along.
#
# A host's tuner that ends badly, or whose board was switched off, is started again, up to 5 times, and goes on. A host that does not answer is
# waited for. The same command again takes up tuners that are still at work. Ctrl-C is dawn. If this script is killed, the tuners end by
# themselves at that time, and the same command fetches what they have.
# Exit status: 1 if a host's last records could not be fetched.
# Environment: TILESMITH_SSH, the ssh to use, with options (default: ssh -o BatchMode=yes -o ConnectTimeout=15); TILESMITH_POLL, seconds
# between looks at the hosts (default: 30); TILESMITH_BUILD_DIR.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/lib_night.sh
. "$ROOT/scripts/lib_night.sh"
MOST_STARTS=6
GRACE_SECONDS=120  # for tuners to end at dawn
LEAST_SECONDS=60   # with less left, none is started again

hosts_file='' budget='' until_time='' arch=sm_87 first=16
out=${XDG_STATE_HOME:-${HOME:-/root}/.local/state}/tilesmith/fleet
folder=.cache/tilesmith-fleet program=tilesmith tilesmith=''
tune_options=(--workload orin-perception)
read -ra ssh <<<"${TILESMITH_SSH:-ssh -o BatchMode=yes -o ConnectTimeout=15}"

while [ $# -gt 0 ]; do
  case "$1" in
    --hosts | --budget | --until | --arch | --first | --out | --folder | --program | --tilesmith)
      if [ $# -lt 2 ] || [ -z "$2" ]; then fail "$1: expected a value after it"; fi
      case "$1" in
        --hosts) hosts_file=$2 ;;
        --budget) budget=$2 ;;
        --until) until_time=$2 ;;
        --arch) arch=$2 ;;
        --first) [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || fail "--first $2: expected a whole number from 1"; first=$2 ;;
        --out) out=$2 ;;
        --folder) [[ $2 =~ ^[A-Za-z0-9._/-]+$ ]] || fail "--folder $2: expected letters, digits, . _ - and / alone"; folder=$2 ;;
        --program) program=$2 ;;
        --tilesmith) tilesmith=$2 ;;
      esac
      shift
      ;;
    --) shift; [ $# -eq 0 ] || tune_options=("$@"); break ;;
    -h | --help) print_help; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done
[ -n "$hosts_file" ] || fail "--hosts: expected a file with a host a line"
[ -r "$hosts_file" ] || fail "--hosts $hosts_file: cannot be read"
mapfile -t hosts < <(sed 's/#.*//; s/[[:space:]]*$//; s/^[[:space:]]*//; /^$/d' "$hosts_file")
[ "${#hosts[@]}" -gt 0 ] || fail "--hosts $hosts_file: names no host"
for host in "${hosts[@]}"; do
  [[ $host =~ ^[A-Za-z0-9][A-Za-z0-9@._:-]*$ ]] || fail "--hosts $hosts_file: '$host' is no host; expected one a line"
done
twice=$(printf '%s\n' "${hosts[@]}" | sort | uniq -d | head -n 1)
[ -z "$twice" ] || fail "--hosts $hosts_file: $twice is named twice"
for word in "${tune_options[@]}"; do
  case "$word" in
    --db | --db=* | --shard | --shard=* | --budget | --budget=*) fail "$word: the script gives each host its own; leave it out" ;;
  esac
done

ends_at=$(end_time) || exit 2
find_tilesmith

# Options that this script looks at have their values in a word of its own.
words=()
for word in "${tune_options[@]}"; do
  if [[ $word =~ ^(--(workload|replay|type|trans|shape|with|family))=(.*)$ ]]; then words+=("${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}"); else words+=("$word"); fi
done
tune_options=("${words[@]}")

mkdir -p "$out"
began=$(date -u +%Y-%m-%dT%H:%M)

# on HOST COMMAND: in the host's folder, below its home.
on() { "${ssh[@]}" "$1" "cd $folder 2>/dev/null || { mkdir -p $folder && cd $folder; } && { $2
}"; }

say "${#hosts[@]} hosts"
for host in "${hosts[@]}"; do
  version=$(on "$host" "$(printf %q "$program") version" </dev/null 2>"$out/$host.ssh.log" | head -n 1) || version=''
  [ -n "$version" ] || fail "$host: did not answer to '$program version' ($(tail -n 1 "$out/$host.ssh.log")); mend it, or take it out of $hosts_file"
  echo "$host: $version"
done

# Workload files go along; everything else as it is.
sent=()
for ((i = 0; i < ${#tune_options[@]}; ++i)); do
  if [ "$i" -gt 0 ] && [[ ${tune_options[i - 1]} =~ ^--(workload|replay)$ ]] && [ -f "${tune_options[i]}" ]; then
    name=$(basename "${tune_options[i]}")
    for host in "${hosts[@]}"; do on "$host" "cat >$(printf %q "$name")" <"${tune_options[i]}"; done
    sent+=("./$name")
  else
    sent+=("${tune_options[i]}")
  fi
done

# What is known of former nights says which kernels come first.
if [ "$arch" != none ]; then
  problems=()
  for ((i = 0; i + 1 < ${#tune_options[@]}; ++i)); do
    case "${tune_options[i]}" in --workload | --type | --trans | --shape | --with | --family) problems+=("${tune_options[i]}" "${tune_options[i + 1]}") ;; esac
  done
  say "compiling for $arch"
  "$tilesmith" compile --arch "$arch" --first "$first" "${problems[@]}" --db "$out/tuned.db"
fi
if [ -e "$out/tuned.db" ]; then
  for host in "${hosts[@]}"; do
    on "$host" "cat >sent.part && mv sent.part sent.db" <"$out/tuned.db"
    on "$host" "$(printf %q "$program") merge sent.db --db fleet.db && rm sent.db" </dev/null | tail -n 2
  done
fi

# start NUMBER: the tuner of that host. Its shell writes how it ended; a board that is switched off writes nothing.
start() {
  local left=$((ends_at - $(date +%s))) words
  words=$(printf '%q ' "$program" tune "${sent[@]}" --shard "$(($1 + 1))/${#hosts[@]}" --budget "${left}s" --db fleet.db --log tune.log)
  on "${hosts[$1]}" "rm -f status; setsid nohup sh -c '${words//\'/\'\\\'\'} & echo \$! >pid; wait \$!; echo \$? >status.part; mv status.part status' >>tune.out 2>&1 </dev/null &" </dev/null
}
# state HOST: at work, ended STATUS, dead; nothing if it does not answer. Another process may have the number after a reboot.
# shellcheck disable=SC2016  # the host expands it
state() {
  on "$1" 'if [ -e pid ] && grep -qsa fleet.db "/proc/$(cat pid)/cmdline"; then echo at work; elif [ -e status ]; then echo ended $(cat status); else echo dead; fi' </dev/null 2>/dev/null || true
}

[ -n "$until_time" ] || ends_at=$(end_time)  # a budget counts from here
[ "$(date +%s)" -lt "$ends_at" ] || warn "--until $until_time: is past before any tuner could start; what is known is fetched"
starts=() reported=()
for ((n = 0; n < ${#hosts[@]}; ++n)); do
  starts[n]=1 reported[n]=''
  if [ "$(state "${hosts[n]}")" = "at work" ]; then
    say "${hosts[n]}: its tuner is still at work"
  elif [ "$(date +%s)" -lt "$ends_at" ]; then
    start "$n"
  fi
done
say "tuning until $(date -d "@$ends_at" '+%F %H:%M')"

dawn=false
trap 'dawn=true' INT TERM
# look: returns 1 once nobody is at work, or to be started again.
look() {
  local n now_is open=1
  for ((n = 0; n < ${#hosts[@]}; ++n)); do
    now_is=$(state "${hosts[n]}")
    if [ "$now_is" != "${reported[n]}" ]; then echo "$(date +%T) ${hosts[n]}: ${now_is:-does not answer}"; fi
    reported[n]=$now_is
    case "$now_is" in
      "ended 0" | "ended 3" | "ended 2") continue ;;  # done, some set aside, or an option that no start will mend
      "" | "at work") open=0; continue ;;
    esac
    if [ "${starts[n]}" -lt "$MOST_STARTS" ] && [ $((ends_at - $(date +%s))) -ge "$LEAST_SECONDS" ]; then
      starts[n]=$((starts[n] + 1))
      echo "$(date +%T) ${hosts[n]}: start ${starts[n]}"
      start "$n" || true
      open=0
    fi
  done
  return "$open"
}
while ! $dawn && [ "$(date +%s)" -lt "$ends_at" ] && look; do
  sleep "${TILESMITH_POLL:-30}" &
  wait $! || true  # a signal ends it at once
done
trap - INT TERM

say "dawn"
status=0
for host in "${hosts[@]}"; do
  # shellcheck disable=SC2016  # the host expands it
  on "$host" '[ ! -e pid ] || ! grep -qsa fleet.db "/proc/$(cat pid)/cmdline" || kill -TERM "$(cat pid)"' </dev/null || true
done
for ((n = 0; n < ${#hosts[@]}; ++n)); do
  host=${hosts[n]}
  for ((i = 0; i < GRACE_SECONDS; ++i)); do
    [ "$(state "$host")" = "at work" ] || break
    sleep 1
  done
  on "$host" "cat tune.log" </dev/null >"$out/$host.tune.log" 2>/dev/null || true
  if on "$host" "$(printf %q "$program") merge fleet.db --db copy.db >/dev/null && cat copy.db" </dev/null >"$out/$host.db.part"; then
    mv "$out/$host.db.part" "$out/$host.db"
  else
    rm -f "$out/$host.db.part"
    warn "$host: its records could not be fetched; the same command fetches them once it answers"
    status=1
  fi
done
fetched=()
for host in "${hosts[@]}"; do if [ -e "$out/$host.db" ]; then fetched+=("$out/$host.db"); fi; done
[ "${#fetched[@]}" -gt 0 ] || fail "no host's records could be fetched"
"$tilesmith" merge "${fetched[@]}" --db "$out/tuned.db"
"$tilesmith" report --db "$out/tuned.db" --since "$began" --out "$out/report.html" || true
exit "$status"
