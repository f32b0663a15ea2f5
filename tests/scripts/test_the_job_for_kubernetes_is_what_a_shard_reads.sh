#!/usr/bin/env bash
# The manifest of docs/fleets.md is YAML, an indexed job of as many tasks as its command splits the workload in, and mounts what the command names.
# Its command, run with what Kubernetes sets, tunes the shard of its index. Skipped where Python has no yaml.
set -euo pipefail
ROOT=$1
tilesmith=$2/bin/tilesmith
# shellcheck source=scripts/lib_fleet.sh
. "$ROOT/scripts/lib_fleet.sh"
python3 -c 'import yaml' 2>/dev/null || { echo "skipped, there is no Python package yaml (Debian's python3-yaml)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() {
  echo "$*"
  exit 1
}
unset SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT TILESMITH_DB

python3 - "$ROOT/docs/fleets.md" "$work/command" <<'PYTHON' || die "the manifest is not what was expected"
import re, sys, yaml
blocks = re.findall(r"^```yaml\n(.*?)^```$", open(sys.argv[1], encoding="utf-8").read(), re.S | re.M)
assert len(blocks) == 1, f"{len(blocks)} blocks of YAML, expected one"
job = yaml.safe_load(blocks[0])
assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
assert re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", job["metadata"]["name"])
spec, pod = job["spec"], job["spec"]["template"]["spec"]
assert spec["completionMode"] == "Indexed", "nothing else sets JOB_COMPLETION_INDEX"
assert pod["restartPolicy"] in ("OnFailure", "Never"), "a Job takes no other"
(container,) = pod["containers"]
command = container["command"]
assert all(isinstance(word, str) for word in command) and command[:2] == ["sh", "-c"] and len(command) == 3
assert re.search(r"^exec ", command[2]), "SIGTERM goes to the shell alone"
assert re.findall(r"--shard auto/(\d+)", command[2]) == [str(spec["completions"])]
assert 1 <= spec["parallelism"] <= spec["completions"]
assert "$(" not in command[2], "Kubernetes would expand it"
mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
assert sorted(mounts.values()) == sorted(volume["name"] for volume in pod["volumes"])
for path in re.findall(r"(/[^/\s]+)/\S+", command[2]):
    assert path in mounts, f"{path} is not mounted"
assert "nvidia.com/gpu" in container["resources"]["limits"]
open(sys.argv[2], "w", encoding="utf-8").write(command[2])
PYTHON

# As in a pod: `tilesmith` is in PATH, /w and /data are this test's.
mkdir "$work/bin" "$work/data" "$work/w"
record_problems "$work" 16
mv "$work/w.txt" "$work/w/"
printf '#!/bin/sh\nexec %q "$@" --replay %q --strategy exhaustive --family mma --max-candidates 1\n' "$tilesmith" "$work/recording.jsonl.zst" >"$work/bin/tilesmith"
chmod +x "$work/bin/tilesmith"
command=$(sed "s|/w/|$work/w/|g; s|/data/|$work/data/|g" "$work/command")
for index in 0 7; do
  CUDA_VISIBLE_DEVICES='' JOB_COMPLETION_INDEX=$index PATH=$work/bin:$PATH sh -c "$command" >"$work/out" 2>&1 || die "index $index: $(tail -n 3 "$work/out")"
  grep -q "shard $((index + 1))/8 " "$work/out" || die "index $index: expected shard $((index + 1))/8: $(head -n 1 "$work/out")"
  [ -s "$work/data/shard-$index.db" ] || die "index $index: expected a database of its own"
done
