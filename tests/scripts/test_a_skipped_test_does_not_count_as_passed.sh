#!/usr/bin/env bash
# A test that lacks something on this machine ends with 77, and CTest knows that status of every test here.
set -euo pipefail
root=$1
build=$2
if grep -nE "[s]kipped.*exit 0" "$root"/tests/scripts/test_*.sh; then echo "expected exit 77 there"; exit 1; fi
ctest --test-dir "$build" -R '^scripts: ' --show-only=json-v1 | python3 -c '
import json, sys
tests = json.load(sys.stdin)["tests"]
passes = [t["name"] for t in tests if not any(p["name"] == "SKIP_RETURN_CODE" and p["value"] == 77 for p in t["properties"])]
assert len(tests) > 20, f"expected the tests of the scripts, found {len(tests)}"
sys.exit("\n".join(["expected SKIP_RETURN_CODE 77 of:", *passes]) if passes else 0)'
