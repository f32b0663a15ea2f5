#!/usr/bin/env bash
# bench_report.py: the means and the table of a CSV, what failed, marks for what was hardly tried, and a plot that is well-formed;
# a file that is none of `tilesmith bench`, or has a value that is none, is refused in one line, with status 2.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/bench.csv" <<'CSV'
problem,type,trans,m,n,k,device,label,family,config,median_us,spread,peer_us,peer_first_us,peer_algorithms,ratio
f16f32 NN 64 64 64,f16f32,NN,64,64,64,Orin,"tuned (exact)",wgmma,"wgmma{a=1,b=2}",2.5,0.01,10.0,10.0,8,4.000
f16f32 TT 64 64 64,f16f32,TT,64,64,64,Orin,"tuned (exact)",mma,"mma{a=1}",10.0,0.01,10.0,10.0,8,1.000
s8s32 NN 64 64 64,s8s32,NN,64,64,64,Orin,"tuned (exact)",mma,"mma{a=2}",3.0,0.01,,,0,
f64f64 NN 64 64 64,f64f64,NN,64,64,64,Orin,"tuned (exact)",mma,"mma{a=2}",8.0,0.01,2.0,2.0,8,0.250
f64f64 NT 64 64 64,f64f64,NT,64,64,64,Orin,"tuned (exact)",mma,"mma{a=2}",,,2.0,2.0,8,
CSV
{
  echo '{"tilesmith_recording":1}'
  for config in 1 2 3 4; do echo "{\"problem\":\"f16f32 NN 64 64 64\",\"config\":\"wgmma{a=$config}\",\"status\":\"ok\"}"; done
} >"$folder/recording.jsonl"
python3 "$root/scripts/bench_report.py" "$folder/bench.csv" --recording "$folder/recording.jsonl" --plot "$folder/plot.svg" \
  --table "$folder/table.md" >"$folder/out"
expect() { grep -qxF -- "$2" "$folder/$1" || { echo "expected in $1: $2"; cat "$folder/$1"; exit 1; }; }
expect table.md '# Every problem of bench.csv'
expect table.md '## f16f32'
expect table.md '| 64×64×64 | 2.5 (4.00×) |  |  | 10 (1.00×) m° |'
expect table.md '| 64×64×64 | 3 (refused) m° |  |  |  |'
expect table.md '| 64×64×64 | 8 (0.25×) m° | failed |  |  |'
expect out '| f16f32 | 2 | 2 | 2.00× | 2 | 0 | 1.00× |'
expect out '| s8s32 | 1 | 0 | | | |  |'
expect out '| all | 5 | 3 | 1.00× | 2 | 1 | 0.25× |'
expect out "Over the peer's first choice: 1.00× of 3, lowest 0.25×"
if grep -q 'In rows' "$folder/out"; then echo "expected no means of rows that the CSV has not"; exit 1; fi
python3 -c 'import sys, xml.dom.minidom
titles = [t.firstChild.data for t in xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("title")]
assert titles == ["f64f64 NN 64×64×64: 0.25×", "f16f32 TT 64×64×64: 1.00×", "f16f32 NN 64×64×64: 4.00×"], titles' "$folder/plot.svg"

# Rows count where both were timed so.
{
  echo 'problem,type,trans,m,n,k,device,family,median_us,peer_us,peer_first_us,ratio,row_us,peer_row_us'
  echo 'f16f32 NN 64 64 64,f16f32,NN,64,64,64,Orin,mma,2.0,4.0,8.0,2.000,1.0,9.0'
  echo 'f16f32 NT 64 64 64,f16f32,NT,64,64,64,Orin,mma,5.0,5.0,5.0,1.000,,'
} >"$folder/rows.csv"
python3 "$root/scripts/bench_report.py" "$folder/rows.csv" >"$folder/out"
expect out "Over the peer's first choice: 2.00× of 2, lowest 1.00×"
expect out 'In rows of like launches where both were timed so, else as above: 3.00× of 2, lowest 1.00×'

# What is rounded to 1.000 is not as fast.
sed 's/"mma{a=1}",10.0,/"mma{a=1}",10.004,/' "$folder/bench.csv" >"$folder/slower.csv"
python3 "$root/scripts/bench_report.py" "$folder/slower.csv" >"$folder/out"
expect out '| f16f32 | 2 | 2 | 2.00× | 1 | 0 | 1.00× |'

# All columns, behind a byte order mark: full keys, and what was run again because it was never timed.
{
  printf '\357\273\277problem,type,trans,m,n,k,lda,ldb,ldc,align_bytes,beta,device,label,family,config,status,median_us,spread,peer_us,'
  echo 'peer_first_us,peer_algorithms,ratio'
  echo 'f16f32 NN 64 64 64,f16f32,NN,64,64,64,64,64,64,16,zero,Orin,t,mma,mma{a=1},launch_failed,,,,,0,'
  echo 'f16f32 NN 64 64 64,f16f32,NN,64,64,64,64,64,64,16,zero,Orin,t,mma,mma{a=1},ok,2.0,0.01,4.0,4.0,8,2.000'
  echo 'f16f32 NN 64 64 64 lda=128,f16f32,NN,64,64,64,128,64,64,16,zero,Orin,t,mma,mma{a=1},ok,5.0,0.01,5.0,5.0,8,1.000'
} >"$folder/today.csv"
python3 "$root/scripts/bench_report.py" "$folder/today.csv" --table "$folder/table.md" >"$folder/out"
expect table.md '| 64×64×64 | 2 (2.00×) m |  |  |  |'
expect table.md '| 64×64×64 lda=128 | 5 (1.00×) m |  |  |  |'
expect out '| all | 2 | 2 | 1.41× | 2 | 0 | 1.00× |'

# refused WORDS OPTION...: one line that holds WORDS, status 2, no file left.
refused() {
  local words=$1 status=0 before
  shift
  before=$(find "$folder" | sort)
  python3 "$root/scripts/bench_report.py" "$@" >/dev/null 2>"$folder/errors" || status=$?
  [ "$status" -eq 2 ] || { echo "$words: expected status 2, got $status"; cat "$folder/errors"; exit 1; }
  if [ "$(wc -l <"$folder/errors")" -ne 1 ] || ! grep -qF -- "$words" "$folder/errors"; then
    echo "expected one line with: $words"
    cat "$folder/errors"
    exit 1
  fi
  [ "$before" = "$(find "$folder" | sort)" ] || { echo "$words: a file was left"; exit 1; }
}
: >"$folder/errors"
: >"$folder/changed.csv"
# changed FROM TO WORDS: refused with FROM of the CSV changed to TO.
changed() {
  sed "s/$1/$2/" "$folder/bench.csv" >"$folder/changed.csv"
  refused "$3" "$folder/changed.csv"
}
changed ',2.5,' ',x,' "changed.csv:2: median_us: 'x': expected a number above 0"
changed ',2.5,' ',nan,' "median_us: 'nan'"
changed ',2.5,' ',-1,' "median_us: '-1'"
changed ',1.000$' ',0' "changed.csv:3: ratio: '0'"
changed ',2.0,2.0,8,0.250' ',inf,2.0,8,0.250' "changed.csv:5: peer_us: 'inf'"
changed '2.0,2.0,8,0.250' ',2.0,8,0.250' "changed.csv:5: ratio: '0.250': expected median_us and peer_us"
changed 's8s32,NN,64,' 's8s32,NN,64.5,' "changed.csv:4: m: '64.5': expected a whole number"
changed 's8s32,NN,64,64,64' 's8s32,NN,64,64,' "changed.csv:4: k: ''"
changed 's8s32,NN' 's8s32,XX' "changed.csv:4: trans: 'XX'"
changed ',8,0.250' '' 'changed.csv:5: expected as many values'
changed 'f64f64 NT' 'f64f64 NN' 'changed.csv:6: f64f64 NN 64 64 64 once more: expected one row a problem'
sed '$s/,Orin,/,Thor,/' "$folder/today.csv" >"$folder/changed.csv"
refused "changed.csv:4: device: 'Thor': expected rows of one device" "$folder/changed.csv"
printf 'a,b\n1,2\n' >"$folder/changed.csv"
refused 'changed.csv: expected the columns' "$folder/changed.csv"
printf '\377\n' >"$folder/changed.csv"
refused 'changed.csv: expected CSV' "$folder/changed.csv"
refused 'nothing.csv: No such file' "$folder/nothing.csv"
mkdir "$folder/taken.md"
refused 'taken.md: Is a directory' "$folder/bench.csv" --table "$folder/taken.md"
