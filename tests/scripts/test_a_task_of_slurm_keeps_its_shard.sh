#!/usr/bin/env bash
# scripts/slurm/tune_array.sbatch gives a task number the same shard when some tasks of the array run again, and refuses what it cannot know.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# In place of the program: says which shard it was given, and leaves a database.
cat >"$folder/tilesmith" <<'PROGRAM'
#!/usr/bin/env bash
while [ $# -gt 0 ]; do
  case "$1" in
    --shard) echo "given $2" ;;
    --db) : >"$2" ;;
  esac
  shift
done
PROGRAM
chmod +x "$folder/tilesmith"
export TILESMITH=$folder/tilesmith TILESMITH_LOCAL=$folder/local SLURM_SUBMIT_DIR=$folder TILESMITH_SAVE_EVERY=1

# expect PART OUT JOB ID FIRST LAST COUNT: that the script says this of the task.
expect() {
  TILESMITH_OUT=$folder/$2 SLURM_ARRAY_JOB_ID=$3 SLURM_ARRAY_TASK_ID=$4 SLURM_ARRAY_TASK_MIN=$5 SLURM_ARRAY_TASK_MAX=$6 SLURM_ARRAY_TASK_COUNT=$7 \
    bash "$root/scripts/slurm/tune_array.sbatch" --workload quick >"$folder/said" 2>&1 || true
  grep -qF -- "$1" "$folder/said" || { echo "expected '$1'; it said:"; cat "$folder/said"; exit 1; }
}
expect "given 1/8" from0 1 0 0 7 8
expect "given 8/8" from0 1 7 0 7 8
expect "given 4/8" from0 2 3 3 5 2
expect "given 6/8" from0 2 5 3 5 2
expect "given 1/8" from0 3 0 0 1 2
expect "has tasks 0 to 7" from0 4 8 8 8 1
expect "given 8/8" from1 1 8 1 8 8
expect "given 3/8" from1 2 3 3 5 2
expect "has tasks 1 to 8" from1 3 0 0 0 1
for unknown in "1 3 3 5 2" "1 4 2 4 3" "1 2 0 6 4"; do
  # shellcheck disable=SC2086  # words
  expect "expected --array=0-7 or 1-8, or the TILESMITH_OUT of one" new $unknown
done
[ ! -e "$folder/new/shards" ] || { echo "a refused task left its shards"; exit 1; }
