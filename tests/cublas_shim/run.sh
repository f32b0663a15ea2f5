#!/usr/bin/env bash
# Runs the test programs under the shims and looks at what they say.
#
# Usage: run.sh FOLDER_OF_PROGRAMS FOLDER_OF_SHIMS MAJOR_VERSION [EMULATOR...]   (EMULATOR: qemu-aarch64-static and its arguments)
set -uo pipefail
room=$1
shims=$2
major=$3
emulator=("${@:4}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/tuned.db"
export TILESMITH_LIBRARY=$room/driver/stand_in_tilesmith.so LD_LIBRARY_PATH=$room/driver TILESMITH_DB=$work/tuned.db TILESMITH_CUBLAS=run
unset TILESMITH_CAPTURE TILESMITH_CAPTURE_BUCKETS TILESMITH_REAL_CUBLAS TILESMITH_LOG NVIDIA_TF32_OVERRIDE
cd "$work" || exit 1
failed=0

# under_emulator env [-u NAME] [NAME=VALUE...] COMMAND...: what the environment says is for the program alone, not for the emulator.
under_emulator() {
  local given=()
  shift
  while :; do
    case $1 in
      -u) given+=(-U "$2"); shift 2 ;;
      *=*) given+=(-E "$1"); shift ;;
      *) break ;;
    esac
  done
  timeout 300 "${emulator[@]}" "${given[@]}" "$@"
}

# runs NAME STATUS env [...] COMMAND...: its output is kept in $work/out.
runs() {
  local name=$1 expected=$2
  shift 2
  if [ ${#emulator[@]} -gt 0 ]; then under_emulator "$@"; else timeout 60 "$@"; fi >out 2>&1
  local status=$?
  [ $status = "$expected" ] && return 0
  echo "== $name: exit status $status, expected $expected"
  sed 's/^/   /' out
  failed=1
}
# says TEXT: the last command's output has a line with it.
says() {
  grep -qE -- "$1" out && return 0
  echo "== nothing says '$1'$(cmp -s out shown || sed 's/^/\n   /' out)"
  cp out shown
  failed=1
}
silent_about() {
  grep -qE -- "$1" out || return 0
  echo "== something says '$1':"
  sed 's/^/   /' out
  failed=1
}

client=$room/cublas_client$major
preload=$shims/libtilesmith-cublas$major.so
whole=$shims/tilesmith-cublas$major/libcublas.so.$major
other=$shims/libtilesmith-cublas$((25 - major)).so
for shim in "$preload" "$whole"; do
  for part in types forms matmuls workspaces; do
    runs "$part under $shim" 0 env LD_PRELOAD="$shim" "$client" $part
    says 'as expected'
    says "tilesmith: cublas $major: process [0-9]+, run: [0-9]+ calls of [0-9]+ problems"
  done
  runs "block-scales under $shim" 0 env LD_PRELOAD="$shim" "$client" block-scales
  says 'as expected'
  says ' 2  forwarded: scales of 128x128 padded along K'
  says ' 3  forwarded: arguments that cuBLAS has to judge'
  says ' 2  forwarded: scales of blocks in a batch, or of other transposes'
  says ' 4  forwarded: scales of a kind'
  runs "reasons under $shim" 0 env LD_PRELOAD="$shim" "$client" reasons
  says 'cuBLAS is as fast or faster \(1 problems\)'
  says 'not in the database \(2 problems\)'
  says 'f16f32f16 NT 5 3 11: not in the database'
  says 'to be verified or timed again \(1 problems\)'
  says "without cuBLAS's time \(1 problems\)"
  says 'forwarded: it could not be planned \(1 problems\)'
  says 'NT 5 3 37: not planned: stand-in failed'
  says 'NT 5 3 23: forwarded from now on: stand-in failed'
  says ' 2  forwarded: pedantic math'
  says ' 1  forwarded: emulated'
  says ' 2  forwarded: a combination of types'
  says ' 1  forwarded: nothing to multiply'
  says ' 1  forwarded: alpha and beta in device memory as f16'
  says ' 1  forwarded: arguments that cuBLAS has to judge'
  says ' 1  forwarded: its plan was not ready, and the stream was being captured'
  says ' 1  forwarded: the thread had no CUDA context yet'
  says " 1  forwarded: a CUDA context of the application's own"
  silent_about 'forwarded: unknown'
  runs "threads under $shim" 0 env LD_PRELOAD="$shim" "$client" threads
  says 'run: 32[0-9]* calls of 40 problems'
  runs "fork under $shim" 0 env LD_PRELOAD="$shim" "$client" fork
  [ "$(grep -c 'tilesmith: cublas .* calls of 1 problems' out)" = 2 ] || { echo "== two processes have no two tables"; cat out; failed=1; }
done

runs "both shims" 0 env LD_PRELOAD="$other:$preload" "$client" taken
says "cublas $major: "
silent_about "cublas $((25 - major)): "
runs "the other version's shim" 0 env LD_PRELOAD="$other" "$client" forwarded
silent_about 'tilesmith'
runs off 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=off "$client" forwarded
silent_about 'tilesmith'
runs "an unknown mode" 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=fast "$client" forwarded
says "^tilesmith: cublas: TILESMITH_CUBLAS is 'fast': expected off, capture, run or check; it is off now$"
runs "no database" 0 env LD_PRELOAD="$preload" TILESMITH_DB="$work/missing.db" "$client" forwarded
says 'missing.db: cannot be read, expected a database'
runs "the database that is opened by default" 0 env -u TILESMITH_DB LD_PRELOAD="$preload" "$client" taken
touch broken.db
runs "a broken database" 0 env LD_PRELOAD="$preload" TILESMITH_DB="$work/broken.db" "$client" forwarded-once-told
says 'stand-in failed; every call is forwarded'
says 'forwarded: the library or the database did not open \(2 problems\)'
runs "no library" 0 env LD_PRELOAD="$preload" TILESMITH_LIBRARY="$work/missing.so" "$client" forwarded
says 'missing.so: cannot open shared object file.*expected libtilesmith beside the shim'
runs "the library beside the shim" 0 env -u TILESMITH_LIBRARY LD_PRELOAD="$preload" "$client" forwarded-once-told
says '; every call is forwarded$'
says 'forwarded: the library or the database did not open'
[ ${#emulator[@]} -gt 0 ] || runs overhead 0 env LD_PRELOAD="$preload" "$client" overhead  # an emulator keeps no times
runs "a quiet log" 0 env LD_PRELOAD="$preload" TILESMITH_LOG=off "$client" taken
silent_about tilesmith
runs check 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=check "$client" checks
says '3  checked, of which 1 differ'
says 'f32f32 NN 5 8 31: 1 of 40 results differ; the first: entry 0, row 2, column 1 of D as cuBLAS sees it: 1.5 here, 1 by cuBLAS'

runs capture 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=capture TILESMITH_CAPTURE="$work/app.workload" "$client" forwarded
printf 'weights calls\nf16f32f16 NT 5 3 64 10\nf16f32f16 NT 5 3 65 10\n' | diff - <(grep -v '^#' app.workload) || failed=1
runs "a capture of scales of blocks" 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=capture TILESMITH_CAPTURE="$work/scales.workload" "$client" block-scales-once
printf 'weights calls\ne4m3f32bf16 NT 12 8 512 epilogue=scale_m_1x128+scale_n_128x128 1\n' | diff - <(grep -v '^#' scales.workload) || failed=1
says ' 1  forwarded: scales of 128x128 padded along K'
runs "capture with sizes that are none" 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=capture TILESMITH_CAPTURE_BUCKETS=4-1 TILESMITH_CAPTURE="$work/app.workload" "$client" forwarded
says "^tilesmith: cublas: TILESMITH_CAPTURE_BUCKETS is '4-1': expected powers, none, or sizes and ranges such as 1-64,128, 1024 in all at most; it is powers now$"
for loading in "" "STAND_IN_LOADING=$work/loading"; do  # the second: forked while the library is being loaded
  runs "capture with a fork $loading" 0 env LD_PRELOAD="$preload" ${loading:+"$loading"} TILESMITH_CUBLAS=capture TILESMITH_CAPTURE="$work/%p.workload" "$client" fork-at-once
  [ "$(cat [0-9]*.workload | grep -v '^#\|^weights' | sort | tr '\n' ' ')" = 'f16f32f16 NT 5 3 64 1 f16f32f16 NT 5 3 64 5 ' ] || { echo "== captured:"; cat [0-9]*.workload; failed=1; }
  rm -f ./*.workload*
done
runs "capture with a fork and one path" 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=capture TILESMITH_CAPTURE="$work/app.workload" "$client" fork
[ "$(cat app.workload app.workload.* | grep -v '^#\|^weights' | sort | tr '\n' ' ')" = 'f16f32f16 NT 5 3 64 1 f16f32f16 NT 5 3 64 5 ' ] || { echo "== captured:"; ls; cat app.workload*; failed=1; }
runs "capture without the library" 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=capture TILESMITH_LIBRARY="$work/missing.so" TILESMITH_CAPTURE="$work/none.workload" "$client" forwarded
says 'missing.so: cannot open shared object file.*expected libtilesmith beside the shim.*; nothing is captured$'
runs "a capture that cannot be written" 0 env LD_PRELOAD="$preload" TILESMITH_CUBLAS=capture TILESMITH_CAPTURE=/no/folder/x "$client" forwarded
says '/no/folder/x: cannot be written'
rm -f ./*.workload*

captured() { cat "$@" 2>&1 | grep -v '^#\|^weights' | sort | tr '\n' ' '; }
# has EXPECTED FOUND: what was captured, say.
has() {
  [ "$2" = "$1" ] && return 0
  echo "== '$2', expected '$1'"
  failed=1
}
capturing=(env LD_PRELOAD="$preload" TILESMITH_CUBLAS=capture TILESMITH_CAPTURE=app.workload)
if [ ${#emulator[@]} -eq 0 ]; then  # an emulator cannot start another program
  runs "two processes that capture at once" 0 "${capturing[@]}" sh -c "'$client' forwarded & '$client' forwarded & wait"
  says 'app.workload exists: process [0-9]+ writes .*/app.workload.[0-9]+$'
  has 'f16f32f16 NT 5 3 64 10 f16f32f16 NT 5 3 64 10 f16f32f16 NT 5 3 65 10 f16f32f16 NT 5 3 65 10 ' "$(captured app.workload app.workload.*)"
  rm -f app.workload*
  echo mine >app.workload
  runs "a capture where there is a file" 0 "${capturing[@]}" "$client" once
  has mine "$(cat app.workload)"
  has 'f16f32f16 NT 5 3 65 1 ' "$(captured app.workload.*)"
  rm -f app.workload*
  runs "a program that becomes another" 0 "${capturing[@]}" "$client" execs
  has 'f16f32f16 NT 5 3 64 1 ' "$(captured app.workload)"
  has 'f16f32f16 NT 5 3 65 1 ' "$(captured app.workload.*)"
  rm -f app.workload*
  mkdir inside
  runs "a program that changes its folder" 0 env -C inside "${capturing[@]}" "$client" changes-folder
  has 'f16f32f16 NT 5 3 64 1 f16f32f16 NT 5 3 65 1 ' "$(captured inside/app.workload*)"
  has '' "$(ls | grep app.workload)"
fi
runs "a program that closed stderr and opened a file" 0 "${capturing[@]}" "$client" writes-as-stderr data
has 'user data' "$(cat data)"
rm -f app.workload*
runs "a capture for which there is no room" 0 "${capturing[@]}" "$client" without-room
has '' "$(ls | grep app.workload)"

plain=$room/cublas_client${major}_plain
for order in "$preload" "$preload:$other" "$other:$preload"; do
  runs "a cuBLAS without versions under $order" 0 env LD_PRELOAD="$order" "$plain" taken
  says "cublas $major: .* run: "
  silent_about "cublas $((25 - major)): "
  runs "a cuBLAS without versions, off, under $order" 0 env LD_PRELOAD="$order" TILESMITH_CUBLAS=off "$plain" forwarded
  runs "a plug-in of a cuBLAS without versions under $order" 0 env LD_PRELOAD="$order" "$room/cublas_client_dlopen" "$room/driver/cublas_plugin${major}_plain.so"
  runs "functions of the whole process under $order" 0 env LD_PRELOAD="$order" "$room/cublas_client_dlopen" "$room/real/libcublas.so.$major" everywhere
  says "cublas $major: .* run: "
  silent_about "cublas $((25 - major)): "
done
runs "the other version's name before a cuBLAS without versions" 0 env LD_PRELOAD="$shims/tilesmith-cublas$((25 - major))/libcublas.so.$((25 - major))" "$plain" forwarded
runs "the other version's shim before a cuBLAS without versions" 0 env LD_PRELOAD="$other" "$plain" forwarded
runs "the same name before a cuBLAS without versions" 0 env LD_PRELOAD="$whole" "$plain" taken
runs "a program that opens a cuBLAS without versions by name" 0 env LD_LIBRARY_PATH="$(dirname "$whole"):$room/driver:$room/unversioned" "$room/cublas_client_dlopen" "libcublas.so.$major"

if [ ${#emulator[@]} -eq 0 ]; then
  # What LD_PRELOAD cannot hold: the shims, and libtilesmith beside them, in a folder of such a name.
  tilesmith=$shims/../bin/tilesmith odd="$work/a b:c"
  mkdir -p "$odd"
  cp "$shims"/libtilesmith-cublas1?.so "$odd"
  cp "$TILESMITH_LIBRARY" "$odd/$(grep -aoE 'libtilesmith\.so(\.[0-9]+)+' "$preload" | head -1)"
  runs "a folder with spaces" 0 env -u TILESMITH_LIBRARY TMPDIR="$work" "$tilesmith" run --db tuned.db --shim-dir "$odd" -- "$client" forwarded
  says "cublas $major: .* run: 20 calls of 2 problems"
  silent_about 'ERROR|did not open'
  has '' "$(ls | grep '^tilesmith-')"
  runs "two processes, captured" 0 env TMPDIR="$work" "$tilesmith" capture -o two.workload --shim-dir "$odd" -- sh -c "'$client' once; '$client' forwarded"
  says '^tilesmith capture: two.workload: 1 problem, 1 call$'
  says '^tilesmith capture: two.workload.[0-9]+: 2 problems, 20 calls$'
  grep -oE 'tune --workload two.workload --workload two.workload.[0-9]+' out >tune
  runs "and tuned" 0 "$tilesmith" $(cat tune) --dry-run --arch sm_90a
  says 'f16f32f16 NT 5 3 65 +11( |$)'
  says '2 problems'
  runs "nothing to capture" 0 "$tilesmith" capture -o none.workload --shim-dir "$shims" -- true
  says 'no product was captured, and none.workload was not written; .*--by-name 12 or 13'
fi

whole=$(dirname "$whole")
lt=$shims/tilesmith-cublaslt$major
runs "a plug-in that was opened RTLD_LOCAL" 0 env LD_PRELOAD="$preload" "$room/cublas_client_dlopen" "$room/driver/cublas_plugin$major.so"
says 'as expected'
real=$room/real/libcublas.so.$major
runs "a program that opens cuBLAS by name" 0 env LD_LIBRARY_PATH="$whole:$room/driver" TILESMITH_REAL_CUBLAS="$real" "$room/cublas_client_dlopen" "libcublas.so.$major"
says 'as expected'
runs "a program that opens cuBLASLt by name" 0 env LD_LIBRARY_PATH="$lt:$room/driver" TILESMITH_REAL_CUBLAS="$real" "$room/cublas_client_dlopen" "libcublasLt.so.$major"
says 'as expected'
says 'f32f32 NN 8 8 8|run: [0-9]+ calls of 1 problems'
runs "both names before a linked program" 0 env LD_PRELOAD="$whole/libcublas.so.$major:$lt/libcublasLt.so.$major" "$client" matmuls
says 'as expected'
runs "cuBLASLt's name alone" 0 env LD_PRELOAD="$lt/libcublasLt.so.$major" "$client" matmuls
says "as expected"
runs "the same, the real one by the loader's folders" 0 env LD_PRELOAD="$whole/libcublas.so.$major" LD_LIBRARY_PATH="$room/driver:$room/real" "$room/cublas_client_dlopen" "libcublas.so.$major"
says 'as expected'
runs "a wrong path" 0 env LD_PRELOAD="$whole/libcublas.so.$major" LD_LIBRARY_PATH="$room/driver:$room/real" TILESMITH_REAL_CUBLAS=libcublas.so "$room/cublas_client_dlopen" "libcublas.so.$major"
says "TILESMITH_REAL_CUBLAS is 'libcublas.so': expected the absolute path of cuBLAS"
runs "itself as the real one" 0 env LD_PRELOAD="$whole/libcublas.so.$major" LD_LIBRARY_PATH="$room/driver:$room/real" TILESMITH_REAL_CUBLAS="$whole/libcublas.so.$major" "$room/cublas_client_dlopen" "libcublas.so.$major"
says "expected the file of libcublas.so.$major .it is another library"
if [ ${#emulator[@]} -eq 0 ]; then  # /bin/true is of this machine
  runs "a program without cuBLAS" 0 env LD_PRELOAD="$preload" /bin/true
  silent_about tilesmith
fi
exit $failed
