#!/usr/bin/env bash
# Makes this checkout buildable: Debian packages (when root), the pinned libtorch in .venv, CMake configured.
# Idempotent; quiet when there is nothing to do. Every other script calls it.
#   HEADROOM_TORCH_DIR  use this libtorch (a directory with include/ and lib/) instead of installing one
#   HEADROOM_PRESET     CMake preset to configure (default: release)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(cmake ninja-build g++ ccache python3 python3-venv libspdlog-dev libcxxopts-dev libbenchmark-dev libgtest-dev
  libgmock-dev nlohmann-json3-dev libgloo-dev clang-format shellcheck bats git ca-certificates)

say() { printf '%s\n' "setup: $*" >&2; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || printf '%s\n' "$package"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $EUID -ne 0 ]]; then
    say "these Debian packages are missing and only root can install them:"
    say "  apt-get install ${missing[*]}"
    exit 5
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "apt-get failed; its log is $log"
    exit 5
  fi
  rm -f "$log"
}

# The CUDA 13 toolkit gives headers and nvcc; without one, PyPI's nvcc goes beside the headers of the wheel.
find_cuda_root() {
  local nvcc
  for nvcc in "${CUDAToolkit_ROOT:-/nonexistent}/bin/nvcc" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc \
    /usr/local/cuda-13*/bin/nvcc .venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
    if [[ -x "$nvcc" ]] && "$nvcc" --version 2>/dev/null | grep -q 'release 13\.'; then
      (cd "$(dirname "$nvcc")/.." && pwd)
      return
    fi
  done
}

install_python() {
  local wanted=requirements.txt stamp=.venv/installed
  [[ -n "${HEADROOM_TORCH_DIR:-}" ]] && return
  if ! cmp -s "$wanted" "$stamp"; then
    say "installing $(grep -v '^#' "$wanted" | tr '\n' ' ')into .venv (about 5 GB, once)"
    [[ -x .venv/bin/python ]] || /usr/bin/python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$wanted"
    cp "$wanted" "$stamp"
  fi
  if [[ -z "$(find_cuda_root)" ]]; then
    say "no CUDA 13 toolkit on this machine: installing nvcc 13.0 into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.0.88 nvidia-cuda-cccl==13.0.85
  fi
}

configure() {
  local preset=${HEADROOM_PRESET:-release} torch cuda_root
  torch=${HEADROOM_TORCH_DIR:-$(echo "$PWD"/.venv/lib/python3*/site-packages/torch)}
  cuda_root=$(find_cuda_root)
  local wanted="$torch $cuda_root" stamp="build/$preset/configured"
  if [[ -f "$stamp" && "$(cat "$stamp")" == "$wanted" ]]; then return; fi
  mkdir -p "build/$preset"
  local log="build/$preset/configure.log"
  if ! cmake --preset "$preset" -DLIBTORCH_DIR="$torch" -DCUDAToolkit_ROOT="$cuda_root" >"$log" 2>&1; then
    tail -n 25 "$log" >&2
    say "configuring failed; the whole output is in $log"
    exit 5
  fi
  printf '%s' "$wanted" >"$stamp"
}

install_packages
install_python
configure
