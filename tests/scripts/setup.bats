#!/usr/bin/env bats
# setup.sh in a small checkout of its own, with stand-ins for the tools that would change the
# machine. No network: the requirements are empty.
# shellcheck disable=SC2016  # the bodies of stand-ins are not for this shell to expand

setup() {
  tree=$(mktemp -d)
  mkdir -p "$tree/scripts/lib" "$tree/stub" "$tree/cuda/bin"
  cp "$BATS_TEST_DIRNAME/../../scripts/setup.sh" "$tree/scripts/"
  cp "$BATS_TEST_DIRNAME/../../scripts/lib/"{usage.sh,checks.sh,build_progress.py,setup_progress.py} "$tree/scripts/lib/"
  echo '# nothing' | tee "$tree/requirements.txt" >"$tree/requirements-nvcc.txt"
  echo '{}' >"$tree/CMakePresets.json"
  stub dpkg-query 'shift 2; printf "%s installed\n" "$@"'
  stub cmake 'echo "$@" >>"$(dirname "$0")/../cmake.calls"; mkdir -p build/release'
  printf '#!/bin/sh\necho release 13.0\n' >"$tree/cuda/bin/nvcc"
  chmod +x "$tree/cuda/bin/nvcc"
  export PATH=$tree/stub:$PATH CUDAToolkit_ROOT=$tree/cuda
  unset HEADROOM_TORCH_DIR HEADROOM_PRESET HEADROOM_IGNORE_SYSTEM_CUDA
}

teardown() { rm -rf "$tree"; }

stub() {
  printf '#!/bin/bash\n%s\n' "$2" >"$tree/stub/$1"
  chmod +x "$tree/stub/$1"
}

# fake_torch MAJOR MINOR: prints a directory that looks like one.
fake_torch() {
  mkdir -p "$tree/torch/include/torch/headeronly" "$tree/torch/lib"
  printf '#define TORCH_VERSION_MAJOR %s\n#define TORCH_VERSION_MINOR %s\n' "$1" "$2" \
    >"$tree/torch/include/torch/headeronly/version.h"
  touch "$tree/torch/lib/libtorch_cpu.so" "$tree/torch/lib/libtorch_cuda.so"
  echo "$tree/torch"
}

@test "installs once, then says and does nothing; an installation that was cut short starts clean" {
  run "$tree/scripts/setup.sh"
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(grep -vc ' MiB, ' <<<"$output")" -eq 1 ] # and progress, on a busy machine
  run "$tree/scripts/setup.sh"
  [ "$status" -eq 0 ] && [ -z "$output" ]
  [ "$(wc -l <"$tree/cmake.calls")" -eq 1 ]
  touch "$tree/.venv/unfinished" "$tree/.venv/half-written"
  run "$tree/scripts/setup.sh"
  [ "$status" -eq 0 ]
  [ ! -e "$tree/.venv/half-written" ] && [ ! -e "$tree/.venv/unfinished" ]
}

@test "HEADROOM_TORCH_DIR is taken, and nothing is installed" {
  HEADROOM_TORCH_DIR=$(fake_torch 2 11) run "$tree/scripts/setup.sh"
  [ "$status" -eq 0 ] && [ -z "$output" ]
  [ ! -e "$tree/.venv" ]
  grep -q -- "-DLIBTORCH_DIR=$tree/torch -DCUDAToolkit_ROOT=$tree/cuda" "$tree/cmake.calls"
}

@test "HEADROOM_TORCH_DIR that is no torch, or an old one: one line, exit 2" {
  HEADROOM_TORCH_DIR=$tree run "$tree/scripts/setup.sh"
  [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 1 ]
  [[ "$output" == *"HEADROOM_TORCH_DIR='$tree' is no libtorch 2.11 or newer: it lacks "* ]]
  HEADROOM_TORCH_DIR=$(fake_torch 2 9) run "$tree/scripts/setup.sh"
  [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 1 ]
  [[ "$output" == *"is no libtorch 2.11 or newer: it is 2.9" ]]
}

@test "HEADROOM_TORCH_DIR without any CUDA 13 toolkit: one line, exit 5" {
  HEADROOM_IGNORE_SYSTEM_CUDA=1 CUDAToolkit_ROOT='' HEADROOM_TORCH_DIR=$(fake_torch 2 11) run "$tree/scripts/setup.sh"
  [ "$status" -eq 5 ] && [ "${#lines[@]}" -eq 1 ]
  [[ "$output" == *"no CUDA 13 toolkit found to go with HEADROOM_TORCH_DIR"* ]]
}

@test "a long installation shows how far it is, with an ETA, and keeps its exit code" {
  mkdir "$tree/filled"
  fill='for i in 1 2 3 4; do head -c 1M /dev/zero >"$0/$i"; sleep 1; done; exit 7'
  run bash -c 'python3 -IS "$0" "filling" 8 "$1/filled" -- bash -c "$2" "$1/filled" 3>&1' \
    "$tree/scripts/lib/setup_progress.py" "$tree" "$fill"
  echo "$output"
  [ "$status" -eq 7 ]
  # A busy machine may have begun nothing yet.
  [[ "$output" =~ ^'filling: '[1-4]' of about 8 MiB, '[0-9]+' s, ETA '[0-9]+' s'$ || "$output" =~ ^'filling: 0 of' ]]
}

@test "packages missing and not root: one list, exit 5" {
  stub dpkg-query 'shift 2; printf "%s installed\n" "$@" | grep -v -E "^(cmake|bats) "; exit 1'
  as=()
  if [ "$(id -u)" -eq 0 ]; then
    chown -R nobody "$tree"
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
  fi
  run "${as[@]}" "$tree/scripts/setup.sh"
  echo "$output"
  [ "$status" -eq 5 ]
  [ "${lines[1]}" = "setup:   apt-get install bats cmake" ]
  [ "${#lines[@]}" -eq 2 ]
}

@test "configuring fails: the end of its output and where the rest is, exit 5, and the next run tries again" {
  stub cmake 'echo "CMake Error: no such thing"; exit 1'
  HEADROOM_TORCH_DIR=$(fake_torch 2 12) run "$tree/scripts/setup.sh"
  [ "$status" -eq 5 ]
  [ "${lines[0]}" = "CMake Error: no such thing" ]
  [ "${lines[1]}" = "setup: failed: cmake; the whole output is in build/release-configure.log" ]
  [ ! -e "$tree/build/release/configured" ]
}

@test "--help tells and runs nothing, another argument is refused" {
  for script in setup test; do
    cp "$BATS_TEST_DIRNAME/../../scripts/$script.sh" "$tree/scripts/"
    run "$tree/scripts/$script.sh" --help
    [ "$status" -eq 0 ]
    [[ $output == *"Exit codes: 0 "* && $output != *"set -"* ]]
    run "$tree/scripts/$script.sh" stray
    [ "$status" -eq 2 ]
    [[ $output == "$script.sh: 'stray' is no option"* ]]
  done
  [ ! -e "$tree/cmake.calls" ] && [ ! -e "$tree/.venv" ]
}
