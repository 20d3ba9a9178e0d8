#!/usr/bin/env bash
# Installs the Python packages of `headroom finetune` or `headroom serve` into build/stacks/, beside the torch of .venv,
# and prints their versions. Quiet when there is nothing to do. Of an installed headroom the packages go into
# ~/.local/share/headroom/stacks, and HEADROOM_TORCH_DIR names the torch.
#   recipes/install.sh finetune     transformers, peft, trl, bitsandbytes, accelerate: 0.7 GB
#   recipes/install.sh torchtune    torchtune, torchao, bitsandbytes: 0.5 GB
#   recipes/install.sh serve        vLLM: 5 GB
#   recipes/install.sh sglang       SGLang: 6.5 GB
# Exit codes: 0 ready, 2 usage, 5 no torch in .venv, or pip failed.
set -euo pipefail
recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() {
  printf 'install: %s\n' "$2" >&2
  exit "$1"
}

[[ $# -eq 1 && ($1 == finetune || $1 == torchtune || $1 == serve || $1 == sglang) ]] ||
  fail 2 "usage: recipes/install.sh finetune|torchtune|serve|sglang"
wanted=$recipes/requirements-$1.txt
if [[ -f $recipes/../CMakePresets.json ]]; then
  cd "$recipes/.."
  folder=build/stacks/$1
  torch=${HEADROOM_TORCH_DIR:-$(echo "$PWD"/.venv/lib/python3*/site-packages/torch)}
  [[ -d $torch/lib ]] || fail 5 "no torch in .venv: run ./scripts/setup.sh first"
else
  folder=${XDG_DATA_HOME:-$HOME/.local/share}/headroom/stacks/$1
  torch=${HEADROOM_TORCH_DIR:-}
  [[ -d $torch/lib ]] || fail 5 "set HEADROOM_TORCH_DIR to a torch 2.11 that is installed in a virtual environment"
  torch=$(cd "$torch" && pwd)
  mkdir -p "$(dirname "$folder")"
fi
if ! cmp -s "$wanted" "$folder/installed"; then
  echo "install: $(grep -v '^#' "$wanted" | tr '\n' ' ')into $folder, once" >&2
  rm -rf "$folder"
  "$(dirname "$torch")/../../../bin/python" -m venv "$folder" || fail 5 "no virtual environment in $folder"
  # Python finds torch there, and pip takes it for installed.
  dirname "$torch" >"$(echo "$folder"/lib/python3*/site-packages)/headroom.pth"
  "$folder/bin/python" -m pip install --disable-pip-version-check --progress-bar off --quiet -r "$wanted" ||
    fail 5 "pip failed; the lines above say why"
  cp "$wanted" "$folder/installed"
fi
"$folder/bin/python" -m pip list --disable-pip-version-check --format freeze 2>/dev/null |
  grep -E "^(torch|$(sed -nE 's/^([a-z-]+)==.*/\1/p' "$wanted" | paste -sd '|'))==" >&2
