#!/usr/bin/env bash
# The first night of an Orin's owner with the real program: a recording stands for the GPU, recorded files for the Jetson's /sys, stand-ins for
# nvpmodel and jetson_clocks. The script is killed in the night (kill -9); the machine is put back, no outcome is lost, the same command goes on; in the
# morning there are a report and a bundle. TILESMITH_LONG_TESTS=1: the whole bundle, whose 116 generic kernels take long to compile, and a program that
# is linked with the installed package opens it as far as it can without a driver.
set -euo pipefail
# shellcheck source=tests/scripts/fake_orin.sh
. "$(dirname "${BASH_SOURCE[0]}")/fake_orin.sh"
real=$2/bin/tilesmith
export real root
recorded=$root/db/recorded/h200.db

# The device that the recording is of, in a machine whose state is the Jetson's. `slow`: a tuner that does not come to its end.
fake tilesmith <<'FAKE'
case "$1" in
  devices)
    "$real" devices --format json | python3 -c '
import json, sys
facts = json.load(sys.stdin)
facts["present"] = [{"name": "NVIDIA H200", "text": "NVIDIA H200"}]
facts["nvrtc"] = {"version": facts["nvrtc"]["version"] or "none", "absent_because": None}
json.dump(facts, sys.stdout)'
    ;;
  tune)
    echo "tuned in mode $(cat "$machine/mode"), clocks $(cat "$machine/clocks")" >>"$machine/calls"
    echo $$ >"$machine/tuner"
    exec "$real" "$@"
    ;;
  export)
    if [ "${TILESMITH_LONG_TESTS:-0}" = 1 ]; then exec "$real" "$@"; fi
    while [ "$1" != --output ]; do shift; done
    echo bundle >"$2"
    ;;
  *) exec "$real" "$@" ;;
esac
FAKE
outcomes() { "$real" query --db "$folder/tuned.db" --sql 'SELECT count(*) FROM records' --format csv 2>/dev/null | tail -n 1; }
some_are_kept() { [[ $(outcomes) =~ ^[0-9]+$ ]] && [ "$(outcomes)" -ge 20 ]; }
put_back() { [ "$(cat "$machine/mode")" = 2 ] && [ "$(cat "$machine/clocks")" = free ]; }
"$real" export --format recording --db "$recorded" --device H200 --type bf16f32bf16 -o "$folder/night.jsonl.zst" 2>/dev/null
"$real" query --db "$recorded" --format csv --sql "SELECT p.text FROM problems p JOIN records e ON e.problem_id = p.id WHERE p.type = 'bf16f32bf16'
  GROUP BY p.id ORDER BY count(*) DESC, p.text LIMIT 12" | tail -n +2 | tr -d '"' >"$folder/night.txt"
options=(--budget 10m --power-mode 0 --lock-clocks -- --replay "$folder/night.jsonl.zst" --workload "$folder/night.txt")

for release in 7 6; do
  export TILESMITH_SYSFS_ROOT=$root/tests/runtime/jetson_trees/jetpack$release
  "${night[@]}" --dry-run "${options[@]}" >"$folder/out" 2>&1 || complain "the dry run failed with JetPack $release"
  grep -q 'power mode MAXN; GPU clock 1300' "$folder/out" || complain "the dry run does not tell the state of JetPack $release"
done
[ ! -e "$folder/tuned.db" ] || complain "the dry run made a database"

"${night[@]}" "${options[@]}" >"$folder/out" 2>&1 &
script=$!
disown
for ((i = 0; i < 10; i++)); do if eventually some_are_kept; then break; fi; done  # a busy machine takes its time
some_are_kept || complain "nothing was kept in a hundred seconds"
tuner=$(cat "$machine/tuner")
kill -KILL "$script"
eventually put_back || complain "after kill -9 the machine was not put back"
gone() { ! kill -0 "$tuner" 2>/dev/null; }
eventually gone || complain "after kill -9 the tuner went on"
before=$(outcomes)
some_are_kept || complain "after kill -9 outcomes are lost"

sleep 1.1  # nights' folders are named by the second
"${night[@]}" "${options[@]}" >"$folder/out" 2>&1 || complain "the same command does not go on"
put_back || complain "at its end the machine was not put back"
called 'tuned in mode 0, clocks locked' || complain "it was not tuned as was asked"
[ "$(outcomes)" -gt "$before" ] || complain "the second start added nothing to $before outcomes"
grep -q "$(head -n 1 "$folder/night.txt" | sed 's/ / */g')" "$folder/out" || complain "there is no table of bests"
twice=$("$real" query --db "$folder/tuned.db" --format csv --sql 'SELECT count(*) FROM (SELECT 1 FROM records GROUP BY problem_id, config_id HAVING count(*) > 1)' | tail -n 1)
[ "$twice" = 0 ] || complain "$twice outcomes were measured twice"

morning=$(find "$folder/nights" -mindepth 1 -maxdepth 1 -name '20*' | sort | tail -n 1)
[ -s "$morning/report.html" ] || complain "there is no report"
[ -s "$morning/tuned.tsb" ] || complain "there is no bundle"
example=$2/examples/gemm_c
if [ "${TILESMITH_LONG_TESTS:-0}" = 1 ] && [ -x "$example" ]; then
  status=0
  "$example" "$morning/tuned.tsb" >"$folder/said" 2>&1 || status=$?
  [ "$status" -ne 0 ] || [ -e /dev/nvidiactl ] || complain "the example ran without a GPU"
  said=$(wc -l <"$folder/said")
  if [ "$said" -eq 0 ] || [ "$said" -gt 3 ]; then complain "the example does not say in a line what is missing: $(cat "$folder/said")"; fi
fi
