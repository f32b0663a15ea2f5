#!/usr/bin/env bash
# Counts what keeps the tree readable, and fails where a limit is exceeded: lines of the product, directives on our own macros and long functions
# in device code. Without a limit: in how many files weights and sparsity are named, and the words of docs/notes.
#
# Usage: house.sh [FOLDER] [--help]
#   FOLDER   the tree to count (default: this one)
# Exit status: 1 if a limit is exceeded, 2 bad input.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
MOST_LINES=66000         # of C++ and CUDA in the four rooms
MOST_DIRECTIVES=60       # #if, #elif, #else and #endif on macros TILESMITH_...
MOST_FUNCTION_LINES=80   # of a function of device code

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail "unknown option $1; see --help" ;;
  ?*) ROOT=$1 ;;
esac
[ -d "$ROOT/kernels" ] || fail "$ROOT/kernels: no such folder"
cd "$ROOT"
status=0
rooms=()
for room in kernels db runtime tuner; do if [ -d "$room" ]; then rooms+=("$room"); fi; done

# counted WHAT NUMBER [LIMIT]
counted() {
  local note=''
  if [ $# -gt 2 ]; then
    note="at most $3"
    if [ "$2" -gt "$3" ]; then note="$note: EXCEEDED" status=1; fi
  fi
  printf '%8d  %-58s %s\n' "$2" "$1" "$note"
}
lines_in() { find "$@" -type f -regex '.*\.\(cpp\|hpp\|h\|cu\|cuh\)' -print0 | xargs -0 -r cat | wc -l; }
files_naming() { { grep -rliE "$1" kernels db runtime tuner python --include='*.[ch]pp' --include='*.h' --include='*.cu' --include='*.cuh' --include='*.py' 2>/dev/null || [ $? -le 2 ]; } | wc -l; }

for room in "${rooms[@]}"; do counted "lines in $room" "$(lines_in "$room")"; done
counted "lines of C++ and CUDA" "$(lines_in "${rooms[@]}")" "$MOST_LINES"
if [ -d python ]; then counted "lines of Python" "$(find python -name '*.py' -print0 | xargs -0 -r cat | wc -l)"; fi

# Prints the two counts, then the places. Of an #if with an #else only the first part is followed: both close the same braces.
device=$(python3 - "$MOST_FUNCTION_LINES" <<'PYTHON'
import pathlib, re, sys

most, directives, long_functions, in_file = int(sys.argv[1]), 0, [], {}

def followed(lines, file):
    """The lines without comments, strings and directives, which are counted; what is behind an #else is empty."""
    global directives
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', lambda m: "\n" * m[0].count("\n"), "\n".join(lines), flags=re.S)
    kept, stack, goes_on = [], [], False  # stack: [ours, whether its first part is being read]
    for line in text.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)(.*)", line)
        if directive and not goes_on:
            word, rest = directive.groups()
            if word in ("if", "ifdef", "ifndef"):
                stack.append([False, True])
            if word in ("if", "ifdef", "ifndef", "elif") and "TILESMITH_" in rest:
                stack[-1][0] = True
            if word in ("elif", "else"):
                stack[-1][1] = False
            if word in ("if", "ifdef", "ifndef", "elif", "else", "endif") and stack and stack[-1][0]:
                directives += 1
                in_file[file] = in_file.get(file, 0) + 1
            if word == "endif" and stack:
                stack.pop()
        skipped = directive or goes_on or not all(first for _, first in stack)
        goes_on = line.endswith("\\") and bool(directive or goes_on)
        kept.append("" if skipped else line)
    return kept

for file in sorted(p for p in pathlib.Path("kernels").rglob("*") if p.suffix in (".cu", ".cuh")):
    open_, head, head_line = [], "", 0  # open_: (kind, line where its head began)
    for number, line in enumerate(followed(file.read_text().split("\n"), file), 1):
        for char in line + "\n":
            if char == "{":
                outer = all(kind == "scope" for kind, _ in open_)
                words = re.sub(r"template\s*<[^{;]*?>\s*(?=struct|class|union)", "", head)
                is_scope = re.search(r"^\s*(inline\s+)?namespace\b|^\s*extern\s*$|\b(struct|class|union|enum)\b[^()]*$", words)
                kind = "scope" if outer and is_scope else "function" if outer and ")" in head and not head.rstrip().endswith("=") else "block"
                open_.append((kind, head_line or number))
                head, head_line = "", 0
            elif char == "}":
                kind, began = open_.pop() if open_ else ("block", number)
                if kind == "function" and number - began + 1 > most:
                    long_functions.append(f"{file}:{began}: {number - began + 1} lines")
                head, head_line = "", 0
            elif char == ";":
                head, head_line = "", 0
            else:
                head += char
                if not head_line and not char.isspace():
                    head_line = number
print(directives, len(long_functions))
print("\n".join(long_functions + [f"{file}: {count} directives" for file, count in sorted(in_file.items(), key=lambda entry: -entry[1])[:8]]))
PYTHON
)
read -r directives long_functions <<<"$device"
counted "directives on our own macros in device code" "$directives" "$MOST_DIRECTIVES"
counted "functions of device code above $MOST_FUNCTION_LINES lines" "$long_functions" 0
counted "files that name weights" "$(files_naming weight)"
counted "files that name sparsity" "$(files_naming 'spars')"
if [ -d docs/notes ]; then counted "words in docs/notes" "$(cat docs/notes/*.md | tr -s ' \n' '\n' | grep -c '[[:alnum:]]')"; fi
if [ "$status" -ne 0 ]; then tail -n +2 <<<"$device" | sed 's/^/  /'; fi
exit "$status"
