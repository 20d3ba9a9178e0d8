#!/usr/bin/env bash
# Installs the Python packages of `headroom finetune` (recipes/requirements.txt) into build/stacks/finetune, beside the
# torch of .venv, and prints their versions. Quiet when there is nothing to do.
# Exit codes: 0 ready, 5 no torch in .venv, or pip failed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/usage.sh"
takes_no_arguments "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=build/stacks/finetune
wanted=recipes/requirements.txt

fail() {
  printf 'install: %s\n' "$*" >&2
  exit 5
}

torch=${HEADROOM_TORCH_DIR:-$(echo "$PWD"/.venv/lib/python3*/site-packages/torch)}
[[ -d $torch/lib ]] || fail "no torch in .venv: run ./scripts/setup.sh first"
if ! cmp -s "$wanted" "$folder/installed"; then
  echo "install: $(grep -v '^#' "$wanted" | tr '\n' ' ')into $folder (about 0.7 GB, once)" >&2
  rm -rf "$folder"
  "$(dirname "$torch")/../../../bin/python" -m venv "$folder" || fail "no virtual environment in $folder"
  # Python finds torch there, and pip takes it for installed.
  dirname "$torch" >"$(echo "$folder"/lib/python3*/site-packages)/headroom.pth"
  "$folder/bin/python" -m pip install --disable-pip-version-check --progress-bar off --quiet -r "$wanted" ||
    fail "pip failed; the lines above say why"
  cp "$wanted" "$folder/installed"
fi
"$folder/bin/python" -m pip list --disable-pip-version-check --format freeze 2>/dev/null |
  grep -E "^(torch|$(sed -nE 's/^([a-z]+)==.*/\1/p' "$wanted" | paste -sd '|'))==" >&2
