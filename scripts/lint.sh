#!/usr/bin/env bash
# Checks what a compiler does not: shell scripts (shellcheck), file lengths, each header compiled alone, formatting (clang-format). Fails where
# something is wrong; a tool that is missing here is named and skipped. clang-tidy has its own preset: cmake --preset tidy && cmake --build --preset tidy.
#
# Usage: lint.sh [--help]
# Environment: TILESMITH_BUILD_DIR, a configured build folder, for the compiler's options (default: build/release).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case "${1:-}" in
  "") ;;
  -h | --help) print_help; exit 0 ;;
  *) fail "unknown option $1; expected --help or nothing" ;;
esac
cd "$ROOT"
MOST_LINES=350  # "about 300", as clang-format breaks lines
status=0

say "shell scripts"
if have shellcheck; then
  shellcheck -x scripts/*.sh scripts/htcondor/*.sh scripts/slurm/*.sbatch .ci/run tests/scripts/*.sh || status=1
else
  warn "shellcheck is not installed: skipped"
fi

say "file lengths"
while IFS= read -r file; do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt "$MOST_LINES" ]; then
    echo "$file: $lines lines; a file this long usually holds two ideas"
    status=1
  fi
done < <(find kernels db runtime tuner tests scripts python examples -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' -o -name '*.py')

say "headers, each compiled alone"
commands=$BUILD_DIR/compile_commands.json
[ -f "$commands" ] || fail "$commands: not there; configure first (scripts/setup.sh --no-build)"
python3 - "$commands" <<'PYTHON' || status=1
import json, os, shlex, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

options = {}  # one set of options a folder
for entry in json.load(open(sys.argv[1])):
    folder = os.path.relpath(entry["file"], os.getcwd()).split(os.sep)[0]
    words = shlex.split(entry["command"])
    words = words[1:] if words[0].endswith("ccache") else words
    options.setdefault(folder, words[: words.index("-o")])

def check(header):
    known = options.get(header.split(os.sep)[0])
    if known is None:
        return ""
    done = subprocess.run([*known, "-fsyntax-only", "-Wno-pragma-once-outside-header", "-x", "c++", header], capture_output=True, text=True)
    # GCC says that a header which is the main file has #pragma once; that is the point here.
    lines = [line for line in done.stderr.splitlines() if "pragma once in main file" not in line]
    return f"{header} does not compile alone:\n" + "\n".join(lines[:5]) if done.returncode else ""

headers = sorted(os.path.join(path, name) for folder in ("kernels", "db", "runtime", "tuner")
                 for path, _, names in os.walk(folder) for name in names if name.endswith(".hpp"))
with ThreadPoolExecutor(os.cpu_count()) as pool:
    complaints = [text for text in pool.map(check, headers) if text]
print("\n".join(complaints) if complaints else f"{len(headers)} headers, all self-contained")
sys.exit(1 if complaints else 0)
PYTHON

say "formatting (scripts/format.sh mends it)"
"$ROOT/scripts/format.sh" --check || status=1

exit $status
