#!/usr/bin/env bash
# Makes this checkout buildable: Debian packages (when root), the pinned libtorch in .venv, CMake
# configured.
# Idempotent; quiet when there is nothing to do. Every other script calls it.
#   HEADROOM_TORCH_DIR  use this libtorch (a directory with include/ and lib/) instead of installing one
#   HEADROOM_PRESET     CMake preset to configure (default: release)
#   CUDAToolkit_ROOT    the CUDA 13 toolkit to use, before any that is found
#   HEADROOM_IGNORE_SYSTEM_CUDA=1  install nvcc from PyPI even where the machine has a toolkit
# Exit codes: 0 ready, 2 a variable above names something unusable, 5 the machine lacks something.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/usage.sh"
takes_no_arguments "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(cmake ninja-build g++ mold ccache python3 python3-venv python3-jsonschema libspdlog-dev libcxxopts-dev libbenchmark-dev
  libgtest-dev libgmock-dev nlohmann-json3-dev libsimdjson-dev libgloo-dev liburing-dev libxxhash-dev zlib1g-dev libjs-dygraphs clang-format shellcheck bats git ca-certificates)

say() { printf '%s\n' "setup: $*" >&2; }

fail() {
  local code=$1
  shift
  say "$@"
  exit "$code"
}

# quietly LOG COMMAND...: the command's output goes to LOG; its end is shown when the command fails. What the command
# writes to file descriptor 3 is shown.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" 3>&2 >"$log" 2>&1 && return
  tail -n 20 "$log" >&2
  say "failed: $1; the whole output is in $log"
  return 1
}

missing_packages() {
  local installed
  # A package it never heard of is an error for dpkg-query, and simply missing for us.
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(sed -n 's/ installed$//p' <<<"$installed" | sort -u)
}

apt_install() {
  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    command -v cmake >/dev/null || fail 5 "not a Debian system: install by hand what Debian calls ${packages[*]}"
    return 0
  fi
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $EUID -ne 0 ]]; then
    say "these Debian packages are missing and only root can install them:"
    fail 5 "  apt-get install ${missing[*]}"
  fi
  say "installing Debian packages: ${missing[*]}"
  quietly build/setup-apt.log apt_install "${missing[@]}" || exit 5
}

# A torch 2.11 or newer, as a wheel's torch/ directory or an unpacked libtorch.
check_torch_dir() {
  local dir=$1 header="$1/include/torch/headeronly/version.h" version
  local want="HEADROOM_TORCH_DIR='$dir' is no libtorch 2.11 or newer"
  [[ -f "$header" && -f "$dir/lib/libtorch_cpu.so" ]] ||
    fail 2 "$want: it lacks include/torch/headeronly/version.h or lib/libtorch_cpu.so"
  [[ -f "$dir/lib/libtorch_cuda.so" ]] || fail 2 "$want with CUDA: it lacks lib/libtorch_cuda.so"
  version=$(awk '$2 == "TORCH_VERSION_MAJOR" {major = $3} $2 == "TORCH_VERSION_MINOR" {minor = $3}
    END {print major * 1000 + minor}' "$header")
  [[ "$version" -ge 2011 ]] || fail 2 "$want: it is $((version / 1000)).$((version % 1000))"
}

is_cuda_13() { [[ -x "$1" ]] && "$1" --version 2>/dev/null | grep -q 'release 13\.'; }

# Prints the root of the first CUDA 13 toolkit, or nothing. PyPI's is the last choice.
find_cuda_root() {
  local nvcc candidates=("${CUDAToolkit_ROOT:-/nonexistent}/bin/nvcc")
  if [[ "${HEADROOM_IGNORE_SYSTEM_CUDA:-0}" != 1 ]]; then
    candidates+=("$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc /usr/local/cuda-13*/bin/nvcc)
  fi
  for nvcc in "${candidates[@]}" .venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
    is_cuda_13 "$nvcc" || continue
    (cd "$(dirname "$nvcc")/.." && pwd)
    return
  done
}

# install_python REQUIREMENTS SIZE MIB: into .venv, once per content of the file. SIZE is what it takes in the end, MIB that
# and the downloads. An installation that was cut short leaves .venv/unfinished behind; pip would take its half-written
# packages for installed, so the next one starts clean.
install_python() {
  local wanted=$1 size=$2 mib=$3 stamp=".venv/installed-$1"
  cmp -s "$wanted" "$stamp" && [[ ! -e .venv/unfinished ]] && return
  if [[ -e .venv/unfinished ]] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    rm -rf .venv
    quietly build/setup-venv.log /usr/bin/python3 -m venv .venv || exit 5
  fi
  say "installing $(grep -v '^#' "$wanted" | tr '\n' ' ')into .venv ($size, once)"
  touch .venv/unfinished
  rm -rf build/setup-download
  mkdir -p build/setup-download
  # Python compiles what it imports: all of the wheels would take half a minute, and the programs need none of it.
  TMPDIR=$PWD/build/setup-download quietly build/setup-pip.log \
    python3 -IS scripts/lib/setup_progress.py "setup: installing into .venv" "$mib" build/setup-download .venv -- \
    .venv/bin/python -m pip install --disable-pip-version-check --no-compile --progress-bar off -r "$wanted" || exit 5
  rm -rf build/setup-download
  cp "$wanted" "$stamp"
  rm .venv/unfinished
}

install_torch() {
  if [[ -n "${HEADROOM_TORCH_DIR:-}" ]]; then
    check_torch_dir "$HEADROOM_TORCH_DIR"
  else
    install_python requirements.txt "about 5 GB" 7200
  fi
}

install_nvcc() {
  [[ -n "$(find_cuda_root)" ]] && return
  [[ -z "${HEADROOM_TORCH_DIR:-}" ]] || fail 5 "no CUDA 13 toolkit found to go with HEADROOM_TORCH_DIR:" \
    "set CUDAToolkit_ROOT to one, or unset HEADROOM_TORCH_DIR to have everything installed into .venv"
  say "no CUDA 13 toolkit on this machine: its compiler comes from PyPI"
  install_python requirements-nvcc.txt "about 0.3 GB" 500
  local root
  root=$(find_cuda_root)
  [[ -n "$root" ]] || fail 5 "the nvcc that was installed into .venv does not run on this machine"
  # CMake looks for the unversioned library, which the wheel of the runtime does not carry.
  ln -sfn libcudart.so.13 "$root/lib/libcudart.so"
}

configure() {
  local preset=${HEADROOM_PRESET:-release} torch cuda_root wanted stamp
  torch=${HEADROOM_TORCH_DIR:-$(echo "$PWD"/.venv/lib/python3*/site-packages/torch)}
  cuda_root=$(find_cuda_root)
  stamp="build/$preset/configured"
  wanted="$PWD $torch $cuda_root $(cksum <CMakePresets.json)"
  [[ -f "$stamp" && "$(<"$stamp")" == "$wanted" ]] && return
  quietly "build/$preset-configure.log" cmake --fresh --preset "$preset" -DLIBTORCH_DIR="$torch" \
    -DCUDAToolkit_ROOT="$cuda_root" || exit 5
  printf '%s\n' "$wanted" >"$stamp"
}

# One at a time: a second set-up of the same checkout waits for the first.
mkdir -p build || fail 5 "cannot write to $PWD"
exec 9>build/setup.lock
flock -n 9 || { say "waiting for another setup.sh in this checkout" && flock 9; }

install_packages
install_torch
install_nvcc
configure
