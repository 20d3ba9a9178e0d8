#!/usr/bin/env bash
# Runs LitGPT's fine-tunings, with random weights, on virtual cards, and prints the peaks that its authors published beside ours.
#   compare_litgpt.sh [--program CHECKOUT] [--output-dir DIR]
#     DIR (default results/virtual) gets litgpt.jsonl and litgpt.md; rows that litgpt.jsonl has are not run again.
#     CHECKOUT is github.com/Lightning-AI/litgpt at 0ecf3cea, which is on no index; some rows run with it
# The versions of LitGPT go into build/stacks, once. They run beside the torch of .venv, and with 4-bit weights beside torch 2.8.0,
# because bitsandbytes 0.42 has no library for CUDA 13. Exit codes: 0 every row is within 1 %, 1 one is not, 2 usage, 3 a run
# failed, 5 headroom or the packages are not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/torch_environment.sh
source scripts/lib/torch_environment.sh
output_dir=results/virtual
file=results/published/litgpt_finetuning.json
checkout=
if [[ ${1:-} == --program ]]; then
  [[ -d ${2:-}/lit_gpt ]] || { printf 'compare_litgpt.sh: --program needs a checkout of lit-gpt at 0ecf3cea\n' >&2 && exit 2; }
  checkout=$2
  shift 2
fi
read_options "$@"
need_headroom
recipes/install.sh finetune || exit 5

records=$output_dir/litgpt.jsonl
touch "$records"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export BNB_CUDA_VERSION=123 # of the libraries in bitsandbytes 0.42 the newest; it serves every CUDA 12
mapfile -t list < <(grep -v '^#' studies/published/requirements-litgpt.txt)
packages=$(packages_in litgpt-packages .venv/bin/python "${list[@]}") || exit 5
packages+=:$(echo "$PWD"/build/stacks/finetune/lib/python3*/site-packages)
python3 -IS studies/published/litgpt_table.py runs "$file" "$records" "$folder" >"$folder/runs"
while read -r rows card cards version bits; do
  python=.venv/bin/python
  [[ $bits == 16 ]] || python=$(torch_python 2.8.0) || exit 5
  if [[ $version == 0ecf3cea ]]; then
    [[ -n $checkout ]] || continue
    program=(studies/published/lit_gpt_tuning.py "$checkout")
  else
    packages_in "litgpt-$version" .venv/bin/python "litgpt==$version" >"$folder/printed" || exit 5
    program=(studies/published/litgpt_tuning.py)
  fi
  PYTHONPATH=$PWD/build/stacks/litgpt-$version:$packages "$headroom" dryrun --card "$card" --count "$cards" -- \
    "$python" "${program[@]}" "$rows" >"$folder/printed" </dev/null || exit 3
  grep '^{"row"' "$folder/printed" >>"$records"
done <"$folder/runs"
status=0
shown=$(python3 -IS studies/published/litgpt_table.py show "$file" "$records") || status=$?
[[ $status -le 1 ]] || exit "$status"
into litgpt.md <<<"$shown"
cat "$output_dir/litgpt.md"
exit "$status"
