#!/usr/bin/env bash
# Runs LitGPT's fine-tunings, with random weights, on virtual cards, and prints the peaks that its authors published beside ours.
#   compare_litgpt.sh [--program CHECKOUT] [--output-dir DIR]
#     DIR (default results/virtual) gets litgpt.jsonl and litgpt.md; rows that litgpt.jsonl has are not run again.
#     CHECKOUT is github.com/Lightning-AI/litgpt at 8641822, which is on no index; some rows run with it
# LitGPT goes into build/stacks/litgpt, once. Exit codes: 0 every row is within 1 %, 1 one is not, 2 usage,
# 3 a run failed, 5 headroom or the packages are not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/virtual
file=results/published/litgpt_finetuning.json
checkout=
if [[ ${1:-} == --program ]]; then
  [[ -d ${2:-}/lit_gpt ]] || { printf 'compare_litgpt.sh: --program needs a checkout of lit-gpt at 8641822\n' >&2 && exit 2; }
  checkout=$2
  shift 2
fi
read_options "$@"
need_headroom
stack=build/stacks/litgpt
list=studies/published/requirements-litgpt.txt
recipes/install.sh finetune || exit 5
if ! cmp -s "$list" "$stack/installed"; then
  rm -rf "$stack"
  .venv/bin/python -m venv "$stack" || exit 5
  cat build/stacks/finetune/lib/python3*/site-packages/headroom.pth >"$(echo "$stack"/lib/python3*/site-packages)/headroom.pth"
  echo "$PWD"/build/stacks/finetune/lib/python3*/site-packages >>"$(echo "$stack"/lib/python3*/site-packages)/headroom.pth"
  "$stack/bin/python" -m pip install --disable-pip-version-check --no-deps --no-compile --quiet -r "$list" || exit 5
  cp "$list" "$stack/installed"
fi
records=$output_dir/litgpt.jsonl
touch "$records"
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
run_rows() { # CARD VERSION PROGRAM...: those of the card and the version that the records lack
  python3 -IS studies/published/litgpt_table.py rows "$file" "$records" "$1" "$2" >"$rows"
  [[ ! -s $rows ]] || "$headroom" dryrun --card "$1" -- "$stack/bin/python" "${@:3}" "$rows" >>"$records" || exit 3
}
for card in a10g a100-40gb; do
  run_rows "$card" 0.4.13 studies/published/litgpt_tuning.py
  [[ -z $checkout ]] || run_rows "$card" 8641822 studies/published/lit_gpt_tuning.py "$checkout"
done
status=0
shown=$(python3 -IS studies/published/litgpt_table.py show "$file" "$records") || status=$?
[[ $status -le 1 ]] || exit "$status"
into litgpt.md <<<"$shown"
cat "$output_dir/litgpt.md"
exit "$status"
