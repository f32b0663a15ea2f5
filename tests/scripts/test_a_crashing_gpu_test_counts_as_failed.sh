#!/usr/bin/env bash
# gpu_check.sh, over a stand-in for the test program: a crash, a hang and a lost device context each cost one test, the others
# are run, and the summary says so. Resumed, only what had not passed is run again, also after the check itself was killed, and
# nothing is kept of other code. Several GPUs share the tests out by what they took before, each test run on one of them.
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
mended = os.path.exists(sys.argv[0] + ".mended")
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
        print(name, file=open(sys.argv[0] + ".ran", "a"))
        print(os.environ.get("CUDA_VISIBLE_DEVICES", "-") + " " + name, file=open(sys.argv[0] + ".on", "a"))
        if name == "crashes" and os.path.exists(sys.argv[0] + ".kills"):
            while not os.path.exists(open(sys.argv[0] + ".kills").read()):  # until the test before has been read
                time.sleep(0.05)
            os.kill(os.getppid(), 9)
            sys.exit(1)
        if name == "crashes" and not mended:
            os.kill(os.getpid(), 11)
        if name == "hangs" and not mended:
            time.sleep(60)
        if name == "differs" and not mended:
            spoiled = True
            print("<Info>of the\n third kernel</Info>", file=out)
            print("<Expression success='false' filename='f.cpp' line='7'><Expanded>1 == 2</Expanded></Expression>", file=out)
        print(f"<OverallResult success='{'false' if spoiled else 'true'}'/></TestCase>", file=out, flush=True)
    print("</Group></Catch>", file=out)
sys.exit(1 if "differs" in names and not mended else 0)
FAKE
chmod +x "$folder/bin/test_gpu"

# check NAME [OPTION...]: writes NAME.json and what ran, and sets $status.
check() {
  local name=$1
  shift
  status=0
  rm -f "$folder/bin/test_gpu.ran" "$folder/bin/test_gpu.on"
  env -u CUDA_VISIBLE_DEVICES TMPDIR="$folder" TILESMITH_BUILD_DIR="$folder" TILESMITH_GPU_INFO="{\"device\": \"${device:-Stand-in}\", \"driver\": \"1.2\"}" \
    bash "$root/scripts/gpu_check.sh" --no-build --test-limit 1 --out "$folder/$name.json" "$@" >"$folder/out" 2>&1 || status=$?
}

check summary
python3 - "$folder/summary.json" "$status" <<'CHECK' || { cat "$folder/out"; exit 1; }
import json, sys
summary = json.load(open(sys.argv[1]))
status = {test["name"]: test["status"] for test in summary["tests"]}
message = {test["name"]: test.get("message", "") for test in summary["tests"]}
assert sys.argv[2] == "1", f"exit status {sys.argv[2]}"
assert status == {"adds": "passed", "crashes": "failed", "differs": "failed", "hangs": "failed",
                  "needs a sound process": "passed", "comes last, with a comma": "passed"}, status
assert (summary["passed"], summary["failed"]) == (3, 3), summary
assert "SIGSEGV" in message["crashes"] and "1 s" in message["hangs"] and "f.cpp:7: 1 == 2 (of the third kernel)" in message["differs"], message
assert summary["device"] == "Stand-in" and summary["driver"] == "1.2", summary
assert len(summary["content_hash"]) == 64, summary
CHECK

touch "$folder/bin/test_gpu.mended"
cp "$folder/summary.json" "$folder/other.json"
check summary --resume
python3 - "$folder/summary.json" "$status" "$folder/bin/test_gpu.ran" <<'CHECK' || { cat "$folder/out"; exit 1; }
import json, sys
summary = json.load(open(sys.argv[1]))
assert sys.argv[2] == "0", f"exit status {sys.argv[2]}"
assert (summary["passed"], summary["failed"]) == (6, 0), summary
assert [test["name"] for test in summary["tests"]][:3] == ["adds", "crashes", "differs"], summary
assert [test["name"] for test in summary["tests"] if "date" in test] == ["adds", "needs a sound process", "comes last, with a comma"], summary
assert open(sys.argv[3]).read().split("\n")[:-1] == ["crashes", "differs", "hangs"], open(sys.argv[3]).read()
CHECK

# The check itself is killed after its first test: what it had is kept beside what there was, and says what is left.
printf %s "$folder/killed.json.part" >"$folder/bin/test_gpu.kills"
cp "$folder/summary.json" "$folder/killed.json"
check killed --test-limit 60 2>/dev/null  # where the shell says that it was
rm "$folder/bin/test_gpu.kills"
cmp "$folder/summary.json" "$folder/killed.json"
rm "$folder/killed.json"
python3 - "$folder/killed.json.part" <<'CHECK' || { cat "$folder/out"; exit 1; }
import json, sys
summary = json.load(open(sys.argv[1]))
assert ([test["name"] for test in summary["tests"]], summary["passed"], summary["left"]) == (["adds"], 1, 5), summary
CHECK
check killed --resume
python3 - "$folder/killed.json" "$folder/bin/test_gpu.ran" <<'CHECK' || { cat "$folder/out"; exit 1; }
import json, sys
summary = json.load(open(sys.argv[1]))
assert summary["passed"] == 6 and summary["failed"] == 0 and "left" not in summary, summary
assert "adds" not in open(sys.argv[2]).read().split("\n"), open(sys.argv[2]).read()
CHECK
[ ! -e "$folder/killed.json.part" ]

device=Other check other --resume
[ "$(wc -l <"$folder/bin/test_gpu.ran")" = 6 ] || { echo "tests of another device were kept"; exit 1; }

# ran_on GPU: how many tests did, those once that ran again because the one before them failed.
ran_on() { sort -u "$folder/bin/test_gpu.on" | grep -c "^$1 " || true; }

rm "$folder/bin/test_gpu.mended"
check shared --gpus 3,5
python3 - "$folder/summary.json" "$folder/shared.json" <<'CHECK' || { cat "$folder/out"; exit 1; }
import json, sys
alone, shared = ([test["name"] for test in json.load(open(path))["tests"]] for path in sys.argv[1:])
assert alone == shared, shared
status = {test["name"]: test["status"] for test in json.load(open(sys.argv[2]))["tests"]}
assert [name for name in shared if status[name] == "failed"] == ["crashes", "differs", "hangs"], status
CHECK
[ "$(ran_on 3) $(ran_on 5)" = "3 3" ] || { echo "not shared out:"; cat "$folder/bin/test_gpu.on"; exit 1; }
touch "$folder/bin/test_gpu.mended"
sed -i '/"adds"/,/seconds/ s/"seconds": [0-9.]*/"seconds": 1000/' "$folder/shared.json"
check shared --gpus 3,5
[ "$status $(ran_on 3) $(ran_on 5)" = "0 1 5" ] || { echo "not by what they took before:"; cat "$folder/bin/test_gpu.on"; exit 1; }
check shared --gpus 3,,5
grep -q -- "--gpus 3,,5: expected a list" "$folder/out" || { cat "$folder/out"; exit 1; }
check shared --gpus 3,5,3
grep -q -- "--gpus 3,5,3: expected each GPU once" "$folder/out" || { cat "$folder/out"; exit 1; }
sed -i -e 's/"seconds": [0-9.]*/"seconds": 7/' -e '/"adds"/,/seconds/ s/"seconds": [0-9.]*/"seconds": 1000/' "$folder/shared.json"
check shared --gpus 3,5 --programs 2
[ "$status $(ran_on 3) $(ran_on 5)" = "0 3 3" ] || { echo "not by programs, $status:"; cat "$folder/bin/test_gpu.on"; exit 1; }
check shared --programs 0
grep -q -- "--programs 0: expected a whole number from 1 to 99" "$folder/out" || { cat "$folder/out"; exit 1; }
check shared
[ "$(ran_on -)" = 6 ] || { echo "without --gpus one was chosen"; exit 1; }
