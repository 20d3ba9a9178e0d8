#!/usr/bin/env bash
# What `headroom dryrun` does with PyTorch wheels it was not made for, and with transformers on the one
# it was. Downloads gigabytes into build/wheels, so CI does not run it.
#   studies/programs/check_wheels.sh [torch==VERSION | transformers]...
#     default: transformers torch==2.9.1 (for CUDA 12) torch (the newest)
# Prints, for each, the exit code and what the dry run said. Exit codes: 0, or 1 when a program neither
# ran (0) nor was refused (5).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

headroom=$PWD/build/release/bin/headroom
programs=$PWD/tests/virtual_gpu/programs
transformers=transformers==4.57.1
[[ $# -gt 0 ]] || set -- transformers torch==2.9.1 torch
status=0

# venv NAME REQUIREMENT...: installed once; prints its Python.
venv() {
  local folder=build/wheels/$1
  shift
  if [[ ! -e $folder/complete ]]; then
    rm -rf "$folder"
    python3 -m venv "$folder" && "$folder/bin/python" -m pip install -q --no-cache-dir "$@" >&2 || return
    touch "$folder/complete"
  fi
  printf '%s\n' "$PWD/$folder/bin/python"
}

# run PYTHON PROGRAM [ARGUMENT]
run() {
  local code
  printf '== %s\n' "${*:2}"
  "$headroom" dryrun --card a100-80gb -- "$@"
  code=$?
  printf 'exit code %s\n' "$code"
  [[ $code -eq 0 || $code -eq 5 ]] || status=1
}

for wanted in "$@"; do
  printf '=== %s\n' "$wanted"
  if [[ $wanted == transformers ]]; then
    # Beside the torch of .venv, not into it.
    folder=$PWD/build/wheels/transformers
    [[ -e $folder/complete ]] || { .venv/bin/python -m pip install -q --target "$folder" "$transformers" &&
      touch "$folder/complete"; } || { status=1 && continue; }
    for model in gpt2 llama; do
      PYTHONPATH=$folder run .venv/bin/python "$programs/train_transformers.py" "$model"
    done
  elif python=$(venv "$wanted" "$wanted" numpy); then
    run "$python" "$programs/train_linear.py"
  else
    status=1
  fi
done
exit "$status"
