#!/usr/bin/env bash
# A tuner that crashes is started again with the time that is left, bad input is not tried twice, the same command goes on
# with the same database, and the newest folders are kept.
set -euo pipefail
# shellcheck source=tests/scripts/fake_orin.sh
. "$(dirname "${BASH_SOURCE[0]}")/fake_orin.sh"

printf '1\n1\n' >"$machine/crashes"
"${night[@]}" --budget 1h >"$folder/out" 2>&1 || complain "a night with two crashes failed"
[ "$(grep -c '^tune ' "$machine/calls")" -eq 3 ] || complain "expected three starts"
grep -q 'ended with status 139; records are kept' "$folder/out" || complain "the crash is not told"
called '--budget 3[56][0-9][0-9]s' || complain "expected the time that is left as budget"

: >"$machine/calls"
printf '1\n1\n1\n1\n1\n1\n1\n1\n' >"$machine/crashes"
status=0
"${night[@]}" --budget 1h >"$folder/out" 2>&1 || status=$?
[ "$status" -eq 2 ] || complain "a tuner that always crashes: expected status 2, got $status"
[ "$(grep -c '^tune ' "$machine/calls")" -eq 5 ] || complain "expected five starts"
rm "$machine/crashes"

: >"$machine/calls"
sleep 1.1  # nights' folders are named by the second
mkdir -p "$folder/nights/20200101-000000" "$folder/nights/20200102-000000" "$folder/nights/notes-of-mine"
"${night[@]}" --until "$(date -d '+2 hours' +%H:%M)" --keep 2 -- --type f16f32 --shape 512 >"$folder/out" 2>&1 || complain "a second night failed"
called 'tune --type f16f32 --shape 512' || complain "what follows -- is not given to tune"
called '--budget 7[0-2][0-9][0-9]s' || complain "--until: expected about two hours"
[ "$(wc -l <"$folder/tuned.db")" -eq 9 ] || complain "expected the same database in all nights"
[ ! -e "$folder/nights/20200101-000000" ] || complain "the oldest folder was kept"
[ ! -e "$folder/nights/20200102-000000" ] || complain "an old folder was kept"
[ -e "$folder/nights/notes-of-mine" ] || complain "a folder that is not ours was removed"
[ "$(find "$folder/nights" -name '20*' | wc -l)" -eq 2 ] || complain "expected the newest two"

called "report .*--since $(date -u +%Y)" || complain "the report is not about all runs of the night"
touch "$machine/no_report"
: >"$machine/calls"
status=0
"${night[@]}" --budget 1h >"$folder/out" 2>&1 || status=$?
[ "$status" -eq 1 ] || complain "a night without a report: expected status 1, got $status"
grep -q 'no report: tilesmith report failed' "$folder/out" || complain "a missing report is not told"
called '^export ' || complain "without a report there is no bundle"
rm "$machine/no_report"

touch "$machine/set_aside"
: >"$machine/calls"
status=0
"${night[@]}" --budget 1h >"$folder/out" 2>&1 || status=$?
[ "$status" -eq 3 ] || complain "a night that set problems aside: expected status 3, got $status"
[ "$(grep -c '^tune ' "$machine/calls")" -eq 1 ] || complain "expected one start where problems were set aside"
grep -q 'problems were set aside' "$folder/out" || complain "problems that were set aside are not told of"
called '^report ' || complain "with problems set aside there is no report"
rm "$machine/set_aside"

touch "$machine/slow"
rm "$machine/tuner"
"${night[@]}" --budget 1h >"$folder/out" 2>&1 &
script=$!
eventually test -s "$machine/tuner" || complain "the tuner was not started"
status=0
"${night[@]}" --budget 1h >"$folder/second" 2>&1 || status=$?
[ "$status" -eq 2 ] || complain "a second night beside the first: expected status 2, got $status"
grep -q 'another night is at work' "$folder/second" || complain "expected a line about the other night"
kill -TERM "$script"
