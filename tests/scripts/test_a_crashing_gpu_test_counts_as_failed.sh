#!/usr/bin/env bash
# gpu_check.sh, over a stand-in for the test program: a crash, a hang and a lost device context each cost one test, the others
# are run, and the summary says so.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
# Speaks as Catch2 does: lists its tests, and writes its report, a test at a time, to --out.
cat >"$folder/bin/test_gpu" <<'FAKE'
#!/usr/bin/env python3
import os, sys, time
arguments = sys.argv[1:]
names = ["adds", "crashes", "differs", "needs a sound process", "hangs", "comes last, with a comma"]
if "--libidentify" in arguments:
    print("description: A Catch2 test executable\nversion:     2.13.10")
    sys.exit(0)
if "--list-test-names-only" in arguments:
    print("\n".join(names))
    sys.exit(len(names))
chosen = [a for i, a in enumerate(arguments) if not a.startswith("--") and (i == 0 or not arguments[i - 1].startswith("--"))]
if chosen:
    wanted = chosen[0].replace("\\,", "\0").split(",")
    names = [n for n in names if n in [w.replace("\0", ",") for w in wanted]]
with open(arguments[arguments.index("--out") + 1], "w") as out:
    print("<Catch name='test_gpu'><Group name='test_gpu'>", file=out, flush=True)
    spoiled = False
    for name in names:
        print(f"<TestCase name='{name}'>", file=out, flush=True)
        if name == "crashes":
            os.kill(os.getpid(), 11)
        if name == "hangs":
            time.sleep(60)
        if name == "differs":
            spoiled = True
            print("<Expression success='false' filename='f.cpp' line='7'><Expanded>1 == 2</Expanded></Expression>", file=out)
        print(f"<OverallResult success='{'false' if spoiled else 'true'}'/></TestCase>", file=out, flush=True)
    print("</Group></Catch>", file=out)
sys.exit(1 if "differs" in names else 0)
FAKE
chmod +x "$folder/bin/test_gpu"

status=0
TILESMITH_BUILD_DIR=$folder TILESMITH_GPU_INFO='{"device": "Stand-in", "driver": "1.2"}' \
  bash "$root/scripts/gpu_check.sh" --no-build --test-limit 1 --out "$folder/summary.json" >"$folder/out" 2>&1 || status=$?
python3 - "$folder/summary.json" "$status" <<'CHECK' || { cat "$folder/out"; exit 1; }
import json, sys
summary = json.load(open(sys.argv[1]))
status = {test["name"]: test["status"] for test in summary["tests"]}
message = {test["name"]: test.get("message", "") for test in summary["tests"]}
assert sys.argv[2] == "1", f"exit status {sys.argv[2]}"
assert status == {"adds": "passed", "crashes": "failed", "differs": "failed", "hangs": "failed",
                  "needs a sound process": "passed", "comes last, with a comma": "passed"}, status
assert (summary["passed"], summary["failed"]) == (3, 3), summary
assert "SIGSEGV" in message["crashes"] and "1 s" in message["hangs"] and "f.cpp:7: 1 == 2" in message["differs"], message
assert summary["device"] == "Stand-in" and summary["driver"] == "1.2", summary
assert len(summary["content_hash"]) == 64, summary
CHECK
