# shellcheck shell=bash
# For checks of fleets, which replay recorded times in place of GPUs. Sourced, never run, with the tree's root in ROOT and the program in
# `tilesmith`.
# shellcheck disable=SC2154

RECORDED=$ROOT/db/recorded/h100.db

# record_problems FOLDER COUNT [TYPE...]: recording.jsonl.zst in FOLDER, and w.txt with the first COUNT of its problems (default: f64f64).
record_problems() {
  local folder=$1 count=$2 types
  shift 2
  [ $# -gt 0 ] || set -- f64f64
  types=$(printf ",'%s'" "$@")
  "$tilesmith" export --format recording --db "$RECORDED" --device H100 "${@/#/--type=}" -o "$folder/recording.jsonl.zst" 2>"$folder/export.log"
  "$tilesmith" query --db "$RECORDED" --sql "SELECT text FROM problems WHERE type IN (${types#,}) ORDER BY text LIMIT $count" --format csv |
    tail -n +2 | tr -d '"' >"$folder/w.txt"
}

# query DATABASE SQL: the rows alone.
query() { "$tilesmith" query --db "$1" --sql "$2" --format csv 2>/dev/null | tail -n +2; }
count() { query "$1" 'SELECT count(*) FROM records'; }
has_more_than() { [ "$(count "$2")" -gt "$1" ] 2>/dev/null; }
# ends_of DATABASE: how the runs that it knows ended, a line each.
ends_of() { query "$1" 'SELECT ended_how FROM runs ORDER BY started_at'; }
# outcomes DATABASE: what is recorded of which candidate of which problem on which device; not by which run.
outcomes() {
  query "$1" "SELECT p.text, c.text, d.key, e.status, e.median_us, e.message, e.plan_hash FROM records e JOIN problems p ON p.id = e.problem_id \
    JOIN configs c ON c.id = e.config_id JOIN devices d ON d.id = e.device_id" | sort
}

# until_true SECONDS COMMAND...: false if it was not true in that time.
until_true() {
  local i seconds=$1
  shift
  for ((i = 0; i < seconds * 5; ++i)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  return 1
}
