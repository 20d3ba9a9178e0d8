#!/usr/bin/env bash
# headroom doctor on this machine, on virtual cards, and without its parts.
# Usage: doctor_test.sh HEADROOM
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

begin "$1"
unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF HEADROOM_CELL

# value CHECK KEY: of the JSON in out.
value() {
  python3 -IS -c 'import json, sys
print(next(check[sys.argv[2]] for check in json.load(open("out"))["checks"] if check["check"] == sys.argv[1]))' "$@"
}

expect 2 "unexpected argument 'now'|no flag" doctor now

expect 0 '' doctor --json
[[ $(value libtorch state) == ok ]] || fail "libtorch: $(value libtorch found)"
[[ $(value 'virtual GPU' found) == 'libtorch finds a virtual NVIDIA H200' ]] || fail "$(value 'virtual GPU' found)"

# The stand-in of NVML and the virtual cards take the place of a driver and its cards.
expect 0 '' dryrun --card rtx4090 --count 2 -- "$program" doctor --json
[[ $(value driver found) == *'for CUDA 13.0 and older' ]] || fail "driver: $(value driver found)"
[[ $(value 'card 1' found) == 'NVIDIA GeForce RTX 4090, 23.516 GiB, 0 B in use' ]] || fail "card 1: $(value 'card 1' found)"
[[ $(value CUDA found) == *'RTX 4090, NVIDIA'* ]] || fail "CUDA: $(value CUDA found)"

# Missing things are named; without libtorch no step runs.
HEADROOM_VIRTUAL_GPU=/nonexistent expect 0 '' doctor
grep -q '^virtual GPU: needed for --device virtual' out || fail 'the missing stand-in has no line'
grep -q '^  ./scripts/setup.sh && cmake --build --preset release$' out || fail 'no command repairs it'
HEADROOM_TORCH_DIR=/nonexistent expect 5 '' doctor
grep -q "HEADROOM_TORCH_DIR='/nonexistent' is no libtorch" out || fail 'the named folder is no problem'
HEADROOM_CELL=/nonexistent/cell expect 5 '' doctor
grep -q '^libtorch: needed for every command that runs a step' out || fail 'a cell that is missing is no problem'
PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:x expect 5 '' doctor
grep -q '^PYTORCH_CUDA_ALLOC_CONF: .* is refused by libtorch' out || fail 'the refused setting is no problem'
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True expect 0 '' doctor
grep -q '^  unset PYTORCH_CUDA_ALLOC_CONF$' out || fail 'no command unsets the variable'
(ulimit -v 900000000 && expect 0 '' doctor --json && [[ $(value 'address space' repair) == 'ulimit -v '* ]]) ||
  fail 'the limit of addresses is no note'

finish
