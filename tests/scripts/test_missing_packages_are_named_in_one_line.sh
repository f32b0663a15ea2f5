#!/usr/bin/env bash
# Who may not install packages is told which ones, in one line, before anything is configured.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
# A machine on which two libraries are missing, used by someone who is neither root nor able to become it.
cat >"$folder/bin/dpkg-query" <<'FAKE'
#!/bin/sh
case "$*" in
  *libxxhash-dev | *catch2) exit 1 ;;
  *) printf installed ;;
esac
FAKE
printf '#!/bin/sh\necho 1000\n' >"$folder/bin/id"
printf '#!/bin/sh\nexit 1\n' >"$folder/bin/sudo"
printf '#!/bin/sh\ntouch "%s/apt-was-called"\n' "$folder" >"$folder/bin/apt-get"
chmod +x "$folder"/bin/*

status=0
TILESMITH_BUILD_DIR=$folder/build PATH=$folder/bin:$PATH bash "$root/scripts/setup.sh" </dev/null >"$folder/out" 2>&1 || status=$?
complain() { echo "$1; it printed:"; cat "$folder/out"; exit 1; }
[ "$status" -eq 2 ] || complain "expected exit status 2, got $status"
[ "$(wc -l <"$folder/out")" -eq 1 ] || complain "expected one line"
grep -q 'apt-get install libxxhash-dev catch2$' "$folder/out" || complain "expected the packages that are missing, and no others"
[ ! -e "$folder/apt-was-called" ] || complain "apt-get was called"
[ ! -e "$folder/build" ] || complain "the build folder was made"
