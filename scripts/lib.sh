# shellcheck shell=bash
# What the scripts share. Sourced, never run: `. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"`.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
BUILD_DIR=${TILESMITH_BUILD_DIR:-$ROOT/build/release}

say() { printf '== %s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
# A broken environment or a wrong option: one line, status 2.
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# Prints the comment block at the top of the script that was called: its --help.
print_help() { sed -n '2,/^$/{s/^# \{0,1\}//;p}' "$0"; }

have() { command -v "$1" >/dev/null 2>&1; }

# Whether a device of compute capability 8.0 or newer answers.
have_gpu() { python3 "$ROOT/scripts/gpu_info.py" --quiet; }

# Where compute-sanitizer is.
find_sanitizer() {
  PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v compute-sanitizer ||
    fail "compute-sanitizer was not found; it is part of the CUDA Toolkit"
}

# A program of the build folder, or a line that says how to get it.
require_program() {
  [ -x "$BUILD_DIR/bin/$1" ] ||
    fail "$BUILD_DIR/bin/$1: no such program; build first (scripts/setup.sh), or name the build folder in TILESMITH_BUILD_DIR"
}
