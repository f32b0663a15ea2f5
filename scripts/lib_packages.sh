# shellcheck shell=bash
# Packages of the distribution and wheels of NVIDIA's. Sourced after lib.sh, never run.

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# install_packages PACKAGE...: with apt-get, as root or through sudo.
install_packages() {
  local as_root=()
  have apt-get || fail "missing: $*; there is no apt-get here: install them with this system's package manager"
  if [ "$(id -u)" -ne 0 ]; then
    # sudo may ask for a password only where someone can answer.
    if have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
      as_root=(sudo)
    else
      fail "missing packages; run as root: apt-get install $*"
    fi
  fi
  say "installing $*"
  local log
  log=$(mktemp)
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  # One unreachable third-party source must not stop us: the packages may well come from the others.
  "${apt[@]}" update >"$log" 2>&1 || warn "apt-get update: $(tail -n 1 "$log")"
  if ! "${apt[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    fail "could not install: $*; run: apt-get update && apt-get install $*"
  fi
  rm -f "$log"
}

# set_apt_of DEBIAN-ARCHITECTURE FOLDER: sets the array `get` to an apt-get of that architecture, with lists and a status of its own in FOLDER. It
# needs no root and changes nothing of this machine.
set_apt_of() {
  local debian=$1 folder=$2
  have apt-get || fail "there is no apt-get here; expected Debian or Ubuntu, whose packages hold the libraries for $debian"
  mkdir -p "$folder/lists/partial" "$folder/archives/partial"
  get=(apt-get -qq -o "APT::Architecture=$debian" -o "APT::Architectures=$debian" -o "Dir::State=$folder" -o "Dir::State::lists=$folder/lists"
    -o "Dir::Cache=$folder" -o Dir::State::status=/dev/null -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Debug::NoLocking=1)
  # Ubuntu keeps other architectures' packages on a server of their own: this machine's sources have to list it.
  "${get[@]}" update >"$folder/update.log" 2>&1 || warn "apt-get update for $debian: $(tail -n 1 "$folder/update.log")"
}

# take_cuda_wheels FOLDER PIP-ARGUMENT... -- WHEEL...: fills FOLDER with the wheels as they are, and over them include/ (copies) and lib/
# (links), whatever their layout.
take_cuda_wheels() {
  local folder=$1 arguments=()
  shift
  while [ "$1" != -- ]; do arguments+=("$1"); shift; done
  shift
  if [ "$(cat "$folder/complete" 2>/dev/null)" = "$*" ]; then return; fi
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
  say "taking $* from NVIDIA's wheels"
  local fresh=$folder.new
  rm -rf "$fresh"
  mkdir -p "$fresh"
  PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_USER=0 \
    python3 -m pip install -q --no-deps --no-compile --target "$fresh" ${arguments[@]+"${arguments[@]}"} "$@" ||
    fail "pip could not install $*; install the CUDA Toolkit (12.0 or newer) instead"
  mkdir "$fresh/include" "$fresh/lib"
  local part lib
  for part in "$fresh"/nvidia/*/include; do cp -R "$part/." "$fresh/include/"; done
  for lib in "$fresh"/nvidia/*/lib/*.so*; do ln -s "../${lib#"$fresh"/}" "$fresh/lib/"; done
  echo "$*" >"$fresh/complete"
  rm -rf "$folder"
  mv "$fresh" "$folder"
}
