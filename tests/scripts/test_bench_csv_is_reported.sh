#!/usr/bin/env bash
# bench_report.py: the means and the table of a CSV, marks for what was hardly tried, and a plot that is well-formed; a file that
# is none of `tilesmith bench` is refused in one line.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/bench.csv" <<'CSV'
type,trans,M,N,K,label,family,config,us,spread,peer_us,peer_first_us,peer_algorithms,ratio
f16f32,NN,64,64,64,"tuned (exact)",wgmma,"wgmma{a=1,b=2}",2.5,0.01,10.0,10.0,8,4.000
f16f32,TT,64,64,64,"tuned (exact)",mma,"mma{a=1}",10.0,0.01,10.0,10.0,8,1.000
s8s32,NN,64,64,64,"tuned (exact)",mma,"mma{a=2}",3.0,0.01,,,0,
f64f64,NN,64,64,64,"tuned (exact)",mma,"mma{a=2}",8.0,0.01,2.0,2.0,8,0.250
CSV
{
  echo '{"tilesmith_landscape":1}'
  for config in 1 2 3 4; do echo "{\"problem\":\"f16f32 NN 64 64 64\",\"config\":\"wgmma{a=$config}\",\"status\":\"ok\"}"; done
} >"$folder/landscape.jsonl"
python3 "$root/scripts/bench_report.py" "$folder/bench.csv" --landscape "$folder/landscape.jsonl" --plot "$folder/plot.svg" \
  --table "$folder/bench.md" >"$folder/out"
expect() { grep -qxF -- "$2" "$folder/$1" || { echo "expected in $1: $2"; cat "$folder/$1"; exit 1; }; }
expect bench.md '## f16f32'
expect bench.md '| 64×64×64 | 2.5 (4.00×) |  |  | 10 (1.00×) m° |'
expect bench.md '| 64×64×64 | 3 (refused) m° |  |  |  |'
expect out '| f16f32 | 2 | 2 | 2.00× | 2 | 0 | 1.00× |'
expect out '| s8s32 | 1 | 0 | | | |  |'
expect out '| all | 4 | 3 | 1.00× | 2 | 1 | 0.25× |'
python3 -c 'import sys, xml.dom.minidom
titles = [t.firstChild.data for t in xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("title")]
assert titles == ["f64f64 NN 64×64×64: 0.25×", "f16f32 TT 64×64×64: 1.00×", "f16f32 NN 64×64×64: 4.00×"], titles' "$folder/plot.svg"

printf 'a,b\n1,2\n' >"$folder/other.csv"
if python3 "$root/scripts/bench_report.py" "$folder/other.csv" >/dev/null 2>"$folder/errors"; then exit 1; fi
[ "$(wc -l <"$folder/errors")" = 1 ] && grep -q 'other.csv: expected the columns' "$folder/errors"
