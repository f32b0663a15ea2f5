#!/usr/bin/env bash
# Without records of an Orin, predicted times rank as cuBLASLt's published ones do, and choices do not waste tiles where cuBLASLt's do.
set -euo pipefail
root=$1
build=$2
[ -x "$build/bin/tilesmith" ] || { echo "skipped: built without the tuner"; exit 77; }
exec python3 "$root/scripts/orin_prediction.py" --check --tilesmith "$build/bin/tilesmith"
