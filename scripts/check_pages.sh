#!/usr/bin/env bash
# Runs the commands of README.md and docs/*.md that need no GPU, as they stand there, in a scratch folder against a build, and looks at what
# they print. The pages are the source: each line of a ``` block without a language is a command, unless it begins with a space (figures). Below
# stands what each must print, or why it is left out and what takes its place. A command that nothing below knows is a failure, and so is an
# entry that no page needs any more. Takes some five minutes on two cores; a nightly check.
#
# Usage: check_pages.sh [--list] [PAGE]...
#   --list   print what is left out and why, and run nothing
#   PAGE     such as docs/fleets.md (default: all)
# Environment: TILESMITH_BUILD_DIR, the build folder (default: build/release)

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

MOST_SECONDS=600  # of one command
patterns=() words=() reasons=() stand_ins=() used=()

# expect PATTERN WORDS: the command matches PATTERN (a glob), ends with status 0, and what it prints or the file that it writes matches WORDS.
expect() { patterns+=("$1"); words+=("$2"); reasons+=(''); stand_ins+=(''); used+=(0); }
# leave PATTERN REASON [COMMAND]: is not run; COMMAND makes what later commands of the page need.
leave() { patterns+=("$1"); words+=(''); reasons+=("$2"); stand_ins+=("${3:-}"); used+=(0); }

GPU='needs a GPU'
OWN_DB='.local/share/tilesmith/tuned.db'
fill_table() {
  leave './scripts/t@(une|est).sh*' 'installs and builds for ten minutes; tests/scripts, CI'
  expect 'alias tilesmith=*' ''
  expect 'tilesmith query --type f16f32 --shape 4096*' 'f16f32  NN  4096'
  expect 'tilesmith explain *' 'level +exact'
  expect 'tilesmith tune --replay h?00 --type *--shape 4096 *' 'f32 +NN +4096.*exact'
  leave 'tilesmith tune --type f16f32 --trans all*' "$GPU" \
    "mkdir -p ~/.local/share/tilesmith && tilesmith tune --replay h200 --type f16f32 --shape 4096 --max-candidates 20 --db ~/$OWN_DB"
  leave 'tilesmith tune --workload llama3-8b --device all*' "$GPU"
  expect 'tilesmith query --type f16f32*' 'f16f32  NN'
  expect 'tilesmith report --out *' 'tuned on NVIDIA H200'
  expect 'tilesmith report --db demo.db*' 'problems? tuned on NVIDIA H100'
  expect 'tilesmith report --db t.db*' '1 problem tuned on NVIDIA H200'
  if ! have jq; then leave 'tilesmith compare *| jq*' 'needs jq'; fi
  expect 'tilesmith compare monday.db tuesday.db --json | jq*' '"faster": [1-9]'
  expect 'tilesmith compare all.db all.db --device H100 --device H200*' 'that compare B is [0-9.]+ times as fast'
  expect 'tilesmith compare *' 'that compare B is [0-9.]+ times as fast'
  expect 'tilesmith export --format bundle --cover*' 'kernels for '
  expect 'tilesmith export --format bundle*' 'bests of NVIDIA H200 and [0-9]+ generic kernels'
  leave 'tilesmith capture *' 'needs cuBLAS; tests/cublas_shim, tests/python/test_wheel.py'
  leave 'tilesmith run *' 'needs cuBLAS and a GPU; tests/cublas_shim, scripts/check_shim.sh'
  leave 'tilesmith tune --workload app.workload*' "$GPU"
  leave 'python torch_llama.py*' 'needs PyTorch and a GPU'
  leave 'tilesmith@(:| capture:) *' 'what a program prints'
  leave '@(\[2026-|GemmAndBiasTunableOp|hipblaslt-bench |./rocblas-bench )*' 'a line of a log; tests/tuner/logs'
  leave 'weights calls' 'a workload'
  leave '#*' 'a workload'
  leave '@(f16f32|bf16f32bf16) *' 'a workload'
  expect 'tilesmith merge --db hopper.db*' 'h100.db: [0-9]+ entries added'
  leave 'tilesmith tune *--shard *' "$GPU" 'tilesmith tune --replay h100 --type f64f64 --shape 4096 --shard 1/1 --max-candidates 9 --db shard-3.db'
  expect 'tilesmith merge shard-\*.db*' 'shard-3.db: [0-9]+ entries added, [0-9]+ known already'
  leave '@(export TILESMITH_OUT|job=|sbatch)*' 'needs Slurm; scripts/check_schedulers.sh'
  expect 'printf *>hosts' ''
  leave 'scripts/fleet_ssh.sh*' 'needs boards; tests/scripts/test_two_hosts_that_ssh_reaches_are_merged_at_dawn.sh'
  leave 'parallel *' "needs GPUs; scripts/check_schedulers.sh"
  leave 'condor_*' 'needs HTCondor; scripts/check_schedulers.sh'
  expect 'tilesmith report --db tuesday.db --against*' 'id="compared"'
  leave 'scripts/overnight_orin.sh*' 'needs a Jetson; tests/scripts/test_a_night_*'
  leave 'sudo *' 'needs root; tests/install, scripts/check_packages.sh'
  leave "echo 'TILESMITH_NIGHT*" 'needs root'
  leave 'scripts/@(packages|check_packages).sh*' 'takes 12 minutes and root'
  leave 'scripts/cross_aarch64.sh*' 'takes more than 10 minutes, and packages'
  leave 'jetson-containers *' 'needs a Jetson'
  leave 'conan *' 'needs ConanCenter; scripts/check_conan.sh'
  leave 'scripts/wheel.sh*' 'takes 20 minutes; tries what it built'
  leave '@(pip|python) *' 'a wheel; tests/python/test_wheel.py'
  leave 'tilesmith tune --kernel .../tilesmith/kernels/*' 'the folder of an installed package; tests/python/test_wheel.py'
  leave 'TILESMITH_LIBRARY=*pytest*' "$GPU"
  expect 'build/release/bin/tilesmith report *--against*' 'id="compared"'
  expect 'build/release/bin/tilesmith report --db tuned.db *' 'problems tuned on NVIDIA H200'
  expect 'build/release/bin/tilesmith report *' 'problems tuned on NVIDIA H100'
  leave 'tilesmith bench *' "$GPU"
  expect 'scripts/bench_report.py h200_bench.csv*' '^\| all \| 483 \| 414 \| 1.48'
  expect 'cp db/recorded/h200.db tuned.db' ''
  leave 'tilesmith tune --workload db/recorded/h200_bench.txt*' "$GPU"
  leave 'build/release/bin/tilesmith simulate --recording kernel_tuner*' 'needs files of Kernel Tuner'
  leave 'python3 -m venv venv *kernel-tuner*' 'a package of PyPI'
  expect 'build/release/bin/tilesmith simulate *' 'forest'
  leave 'build/release/bin/tilesmith verify *' "$GPU"
  expect 'build/release/bin/tilesmith compile *' '[1-9][0-9]* kernels compiled'
  expect 'build/release/bin/tilesmith tune --workload quick --replay*' 'f16f32 +NN +1024.*exact'
}

# The commands of a page, one a line: continued lines joined, comments at the end and what is left of them off.
commands_of() {
  awk '/^```/ { inside = !inside; plain = inside && $0 == "```"; next }
       plain && part == "" && /^ / { next }
       plain { line = part $0; part = ""; if (sub(/\\$/, "", line)) { part = line; next } sub(/ +# .*/, "", line); if (line != "") print line }' "$1"
}

# What pages take for granted: the build and the tree by their names, and databases of former nights.
furnish() {
  mkdir -p "$room/home" "$room/build"
  ln -s "$BUILD_DIR" "$room/build/release"
  ln -s "$ROOT"/{db,scripts,examples} "$room/"
  cp "$ROOT/db/recorded/h200_bench.csv" "$ROOT/db/recorded/h200.db" "$room/"
  mv "$room/h200.db" "$room/tuned.db"
  printf 'tf32f32 NN 4096 4096 4096\ntf32f32 NT 4096 4096 4096\n' | tee "$room/night.txt" >"$room/FILE"
  cd "$room"
  export HOME=$room/home PATH=$BUILD_DIR/bin:$PATH CUDA_VISIBLE_DEVICES=''
  unset TILESMITH_DB XDG_DATA_HOME TILESMITH_FAMILY_DIR
  local night
  for night in monday:4 tuesday:0 orin:9; do
    tilesmith tune --replay h100 --type tf32f32 --trans all --shape 4096 --max-candidates "${night#*:}" --db "${night%:*}.db" >/dev/null 2>&1
  done
  tilesmith merge --db all.db db/recorded/h100.db db/recorded/h200.db >/dev/null
}

# try COMMAND WORDS: what it prints, and the page that it writes, must match.
try() {
  local status=0 page
  touch "$room/.before"
  timeout "$MOST_SECONDS" bash -c "set -o pipefail; $1" >"$room/.out" 2>&1 </dev/null || status=$?
  page=$(find . -maxdepth 1 -name '*.html' -newer .before)
  if [ $status -eq 0 ] && { [ -z "$2" ] || cat .out ${page:+"$page"} | grep -E -- "$2" >/dev/null; }; then return; fi
  echo "    status $status, expected 0 and '$2' in:"
  tail -n 20 .out
  return 1
}

main() {
  local list=false pages=() page command i failed=0 ran=0
  while [ $# -gt 0 ]; do
    case "$1" in
      --list) list=true ;;
      -h | --help) print_help; exit 0 ;;
      -*) fail "unknown option $1; see --help" ;;
      *) pages+=("$1") ;;
    esac
    shift
  done
  local all=false
  [ ${#pages[@]} -gt 0 ] || { all=true; mapfile -t pages < <(cd "$ROOT" && ls README.md docs/*.md); }
  $list || require_program tilesmith
  shopt -s extglob
  fill_table
  room=$(mktemp -d)
  trap 'rm -rf "$room"' EXIT
  $list || furnish
  for page in "${pages[@]}"; do
    [ -f "$ROOT/$page" ] || fail "$page: no such page; expected one such as docs/fleets.md"
    while IFS= read -r command; do
      for ((i = 0; i < ${#patterns[@]}; ++i)); do
        # shellcheck disable=SC2053  # a glob
        [[ $command != ${patterns[i]} ]] || break
      done
      if [ "$i" -eq ${#patterns[@]} ]; then
        echo "$page: $command: nothing here knows it"
        failed=$((failed + 1))
        continue
      fi
      used[i]=1
      if [ -n "${reasons[i]}" ]; then
        echo "$page: $command: left out: ${reasons[i]}"
        $list || [ -z "${stand_ins[i]}" ] || try "${stand_ins[i]}" '' || failed=$((failed + 1))
        continue
      fi
      if $list; then continue; fi
      SECONDS=0
      try "$command" "${words[i]}" || { failed=$((failed + 1)); echo "$page: $command: FAILED"; continue; }
      echo "$page: $command: ran, $SECONDS s"
      ran=$((ran + 1))
    done < <(commands_of "$ROOT/$page")
  done
  for ((i = 0; i < ${#patterns[@]}; ++i)); do
    if $all && [ "${used[i]}" -eq 0 ]; then
      echo "no page has '${patterns[i]}' any more"
      failed=$((failed + 1))
    fi
  done
  [ $failed -eq 0 ] || fail "$failed of the pages' commands are not as they should be (above)"
  $list || say "$ran commands ran as the pages say"
}

main "$@"
