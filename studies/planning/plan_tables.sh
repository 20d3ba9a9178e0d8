#!/usr/bin/env bash
# Prints what the README and docs show of planning: every table from the program, none typed.
#   plan_tables.sh [--output-dir DIR]      DIR defaults to results/plan
# Exit codes: 0 all tables are written, 2 usage, 3 a run failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/plan
unset -v file # takes none
read_options "$@"
need_headroom

closed_form=("$headroom" rlhf --formula closed-form --format md)
"${closed_form[@]}" --model-size 70b --num-gpus 8 --gpu-memory 80 | tables 'Phase|Everything' | into closed_form_70b.md
"${closed_form[@]}" --model-size 70b --num-gpus 8 --gpu-memory 80 | tables 'Everything' | into closed_form_70b_everything.md
"${closed_form[@]}" --model-size 7b --num-gpus 8 --gpu-memory 80 | tables 'ZeRO' | into zero_7b.md
"$headroom" rlhf --model-size 70b --num-gpus 8 --gpu-memory 80 --format md | into rlhf_70b.md
tables 'Recommended|Why' <"$output_dir/rlhf_70b.md" | into rlhf_70b_setup.md
"$headroom" rlhf --model-size 70b --num-gpus 8 --gpu-memory 80 --sequence-parallel --recompute full \
  --swap-phases --optimizer-offload --output "$output_dir/rlhf_70b_swapped.svg" >/dev/null
"$headroom" rlhf --model-size 405b --num-gpus 1024 --card h100-80gb --batch-size 16 --format md |
  tables 'Recommended|Why' | into rlhf_405b_setup.md
python3 -I studies/planning/plan_cases.py "$headroom" | into cases.md

# The same shapes, run on a virtual card without end.
status=0
"$headroom" sweep --model-size 7b,13b,70b,405b --profile-type training --batch-size 4 --context-length 2048 \
  --precision bf16 --attention sdpa --optimizer-impl fused --device virtual:h200,bytes=unlimited \
  --warmup-steps 1 --measure-steps 1 --format jsonl >"$output_dir/records.jsonl.tmp" || status=3
sed "s|$PWD/||g" "$output_dir/records.jsonl.tmp" >"$output_dir/records.jsonl"
rm "$output_dir/records.jsonl.tmp"
"$headroom" table computed "$output_dir/records.jsonl" --format md | into measured.md
exit "$status"
