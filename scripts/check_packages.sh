#!/usr/bin/env bash
# Installs the packages (scripts/packages.sh) in a fresh Debian 12, uses them without a GPU, and removes them. Takes a few minutes and a network,
# so it is no part of CI. Needs root, and debootstrap.
#
# Usage: check_packages.sh [--arch amd64|arm64] [--cuda FOLDER] [--help]
#   --arch ARCH     of this architecture (default: this machine's). Another one's programs must run here: under qemu-user, which binfmt_misc
#                   starts (packages qemu-user-static and binfmt-support)
#   --cuda FOLDER   also compile kernels for sm_87 there, with NVRTC and headers of that architecture in FOLDER/lib and FOLDER/include, such as
#                   build/cross/cuda-12.6, which cross_aarch64.sh fills

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SUITE=bookworm

main() {
  local arch cuda='' folder
  arch=$(dpkg --print-architecture)
  while [ $# -gt 0 ]; do
    case "$1" in
      --arch | --cuda)
        [ $# -ge 2 ] || fail "$1: expected a value after it"
        if [ "$1" = --arch ]; then arch=$2; else cuda=$2; fi
        shift
        ;;
      -h | --help) print_help; exit 0 ;;
      *) fail "unknown option $1; see --help" ;;
    esac
    shift
  done
  [[ $arch =~ ^(amd64|arm64)$ ]] || fail "--arch $arch: expected amd64 or arm64"
  folder=$ROOT/build/packages/$arch
  [ -z "$cuda" ] || { [ -d "$cuda/include" ] && compgen -G "$cuda/lib/libnvrtc.so.*" >/dev/null; } || fail "--cuda $cuda: expected NVRTC in lib/ and headers in include/"
  ls "$folder"/tilesmith_*.deb >/dev/null 2>&1 || fail "$folder: expected packages there; scripts/packages.sh --arch $arch builds them"
  [ "$(id -u)" -eq 0 ] || fail "expected to run as root, as debootstrap does"
  have debootstrap || fail "debootstrap is missing; run: apt-get install debootstrap"

  room=$(mktemp -d)
  trap 'umount "$room/proc" 2>/dev/null || true; rm -rf "$room"' EXIT
  say "making a fresh Debian ($SUITE, $arch)"
  debootstrap --arch="$arch" --variant=minbase "$SUITE" "$room" >"$room.log" 2>&1 || { tail -n 5 "$room.log" >&2; fail "debootstrap failed"; }
  rm -f "$room.log"
  mount -t proc proc "$room/proc" 2>/dev/null || warn "proc could not be mounted there"
  mkdir "$room/packages"
  cp -R "$folder"/*.deb "$ROOT/examples" "$room/packages/"
  if [ -n "$cuda" ]; then
    mkdir "$room/cuda"
    cp -RL "$cuda/include" "$cuda/lib" "$room/cuda/"
  fi
  cat >"$room/packages/use.sh" <<'INSIDE'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
cd /packages
expects() { grep -qE -- "$1" /tmp/out || { echo "expected '$1' of: $2"; cat /tmp/out; exit 1; }; }
apt-get -qq install -y --no-install-recommends ./*.deb gcc libc6-dev pkg-config >/tmp/log 2>&1 || { tail -n 20 /tmp/log; exit 1; }
tilesmith version >/tmp/out
expects '^tilesmith [0-9.]+$' version
tilesmith tune --replay h200 --type bf16f32 --trans NN --shape 4096 --max-candidates 40 --db /tmp/t.db >/tmp/out 2>&1
expects 'bf16f32 +NN +4096' 'tune --replay'
tilesmith query --db /usr/share/tilesmith/bests/h100.db --type f16f32 --shape 4096 >/tmp/out
expects 'H100' 'query'
tilesmith report --db /tmp/t.db --out /tmp/report.html >/tmp/out 2>&1
expects '^/tmp/report.html: 1 problem, 4[0-9] candidates' report
grep -q '1 problem tuned on NVIDIA H200' /tmp/report.html || { echo 'the page does not say what the replay found'; exit 1; }
HOME=/tmp tilesmith query --type f16f32 --shape 4096 >/tmp/out 2>&1
expects 'these are the bests that ship, /usr/share/tilesmith/bests/h200.db' 'query without a database'
expects '^f16f32 +NN +4096' 'query without a database'
tilesmith run --db /tmp/t.db -- /bin/true >/tmp/out 2>&1
status=0
tilesmith tune --type f16f32 --shape 64 --db /tmp/t.db >/tmp/out 2>&1 || status=$?
test $status = 2
expects '^tilesmith tune: .*(GPU|driver|libcuda)' 'tune without a GPU'
if [ -d /cuda ]; then
  TILESMITH_NVRTC=$(echo /cuda/lib/libnvrtc.so.*) TILESMITH_CUDA_INCLUDE=/cuda/include tilesmith compile --arch sm_87 --type f16f32 --trans NN --shape 64 \
    --max-configs 1 --db /tmp/k.db >/tmp/out 2>&1
  expects '^sm_87 +mma +f16f32' 'compile --arch sm_87'
fi
gcc examples/gemm_c.c -o /tmp/gemm_c $(pkg-config --cflags --libs tilesmith) -lm -ldl
/tmp/gemm_c /tmp/t.db >/tmp/out 2>&1 && { echo 'the example ran without a GPU?'; exit 1; }
expects '(GPU|driver|libcuda)' 'the example without a GPU'
test -s /usr/share/man/man1/tilesmith-tune.1.gz
test -s /usr/share/bash-completion/completions/tilesmith
systemctl is-enabled tilesmith-overnight.timer >/tmp/out 2>&1 && { echo 'the timer is enabled'; exit 1; }
apt-get -qq purge -y '*tilesmith*' >/tmp/log 2>&1 || { tail -n 20 /tmp/log; exit 1; }
left=$(find / -xdev -name '*tilesmith*' -not -path '/packages/*' -not -path '/proc/*' -not -path '/var/lib/dpkg/*' -not -path '/var/cache/*')
test -z "$left" || { echo "left behind: $left"; exit 1; }
INSIDE
  say "installing, using, removing"
  chroot "$room" bash /packages/use.sh || fail "the packages do not do there what is expected (above)"
  say "installed, used and removed"
}

main "$@"
