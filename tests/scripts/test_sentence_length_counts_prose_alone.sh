#!/usr/bin/env bash
# sentence_length.py counts sentences of prose and of comments: no headings, tables, code blocks, pictures or labels.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2016  # backticks of Markdown
printf '%s\n' '# A heading of five words' '' 'One two three four.' 'Five six `seven and more`.' '' '| a table | with a few words |' \
  '```' 'a block of code is not counted here' '```' '- An item has [four words](http://a.page/with/a/long/name).' >"$folder/page.md"
printf '%s\n' '/// One two three' '/// four five.' 'int a = 0;  // this comment stands behind code' '//   a  ──▶  b and c' '// Short.' >"$folder/code.hpp"
out=$(python3 "$root/scripts/sentence_length.py" "$folder/page.md" "$folder/code.hpp")
expected='README and docs: 4.0 words a sentence, aim at most 16; 3 sentences, 0 of more than 30 words
comments: 5.0 words a sentence, aim at most 20; 1 sentences, 0 of more than 30 words'
[ "$out" = "$expected" ] || { printf 'expected:\n%s\ngot:\n%s\n' "$expected" "$out"; exit 1; }

status=0
errors=$(python3 "$root/scripts/sentence_length.py" "$folder/none.md" 2>&1 >/dev/null) || status=$?
[ "$status" -eq 2 ] || { echo "a file that is not there: exit status $status, expected 2"; exit 1; }
[ "$(wc -l <<<"$errors")" -eq 1 ] || { echo "expected one line, got: $errors"; exit 1; }
