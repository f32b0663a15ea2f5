#!/usr/bin/env bash
# Who may not install packages is told which ones aarch64 takes, in one line, with the status by which continuous integration skips it. Wrong
# options are refused before anything is looked for.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
# A machine that has all but the compiler and the emulator, used by someone who is neither root nor able to become it.
for program in bash basename cat dirname mkdir sed; do ln -s "$(command -v "$program")" "$folder/bin/"; done
for program in cmake ninja pkg-config python3; do printf '#!/bin/sh\nexit 1\n' >"$folder/bin/$program"; done
printf '#!/bin/sh\necho 1000\n' >"$folder/bin/id"
printf '#!/bin/sh\nexit 1\n' >"$folder/bin/sudo"
# shellcheck disable=SC2016  # of the script
printf '#!/bin/sh\n: >"%s/apt-was-called"\n' "$folder" >"$folder/bin/apt-get"
chmod +x "$folder"/bin/*

# expect STATUS LINE OPTION...
expect() {
  local expected=$1 line=$2 status=0
  shift 2
  PATH=$folder/bin bash "$root/scripts/cross_aarch64.sh" "$@" </dev/null >"$folder/out" 2>&1 || status=$?
  if [ "$status" -ne "$expected" ] || [ "$(cat "$folder/out")" != "cross_aarch64.sh: $line" ]; then
    echo "cross_aarch64.sh $*: expected status $expected and '$line', got $status and:"
    cat "$folder/out"
    exit 1
  fi
}
expect 77 'missing packages; run as root: apt-get install g++-aarch64-linux-gnu qemu-user-static'
expect 2 '--max-configs 0: expected a number above 0' --max-configs 0
expect 2 '--max-configs : expected a number above 0' --max-configs
expect 2 'unknown option --fast; see --help' --fast
[ ! -e "$folder/apt-was-called" ] || { echo "apt-get was called"; exit 1; }

# The check of what was compiled: kernels of a family that are missing, failed, or of another NVRTC.
python3 - "$folder/kernels.db" <<'PYTHON'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executescript("""CREATE TABLE configs (id, family); CREATE TABLE kernels (id, config_id, nvrtc_version); CREATE TABLE builds (kernel_id, status);
INSERT INTO configs VALUES (1, 'simt'), (2, 'mma'), (3, 'gemv');
INSERT INTO kernels VALUES (1, 1, '12.6'), (2, 2, '12.6'), (3, 3, '13.2');
INSERT INTO builds VALUES (1, 'ok'), (2, 'compile_failed'), (3, 'ok');""")
PYTHON
python3 "$root/scripts/compiled_families.py" "$folder/kernels.db" 12.6 simt mma gemv >"$folder/out" 2>&1 && { echo "bad kernels were taken for good"; exit 1; }
for line in '1 kernels of mma were not compiled' '1 kernels of gemv by NVRTC 13.2, expected 12.6' 'no kernel of mma' 'NVRTC 12.6: .*1 simt'; do
  grep -q "$line" "$folder/out" || { echo "expected '$line' in:"; cat "$folder/out"; exit 1; }
done
