#!/usr/bin/env bash
# Makes the committed reference results anew: the assignment's tables on a virtual H200 and, of the
# small size, on the CPU, with the Records behind them; attention by context; the memory techniques;
# allocator settings; theory against measurement.
#   reference_results.sh [virtual] [cpu] [fit]   default: the first two; fit, of virtual, alone. About 3 and 6 minutes on two cores.
# The other committed results have scripts of their own: compare_*.sh, plan_tables.sh, readme_outputs.sh.
# Exit codes: 0 all made, 2 usage, 3 some cells failed (an out of memory is a result, not a failure),
#             5 headroom is not built.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 5
# shellcheck source-path=SCRIPTDIR source=../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
date=$(date -u +%F)
scratch=$(mktemp -d) || exit 5
trap 'rm -rf "$scratch"' EXIT
status=0

# sweep NAME FLAGS...: Records to output_dir/NAME.jsonl, whole or not at all.
sweep() {
  local name=$1
  shift
  "$headroom" sweep "$@" --format jsonl >"$scratch/$name.jsonl" || { status=3 && return; }
  mv "$scratch/$name.jsonl" "$output_dir/$name.jsonl"
}

# assignment NAME FLAGS...: run_all.sh's tables, and its Records as NAME_DATE.jsonl in place of older ones.
assignment() {
  local name=$1
  shift
  ./scripts/run_all.sh --output-dir "$scratch/$name" "$@" || [[ $? -eq 3 ]] || { status=3 && return; }
  local table
  for table in peak_memory_summary mixed_precision_memory_summary largest_allocations all_sizes_memory_summary; do
    [[ ! -e $output_dir/$table.md ]] || cp "$scratch/$name/$table.md" "$output_dir/"
  done
  # These Records are marked with their techniques, so they have a file of their own.
  [[ ! -e $scratch/$name/techniques.jsonl ]] || mv "$scratch/$name"/techniques* "$output_dir/"
  rm -f "$output_dir/${name}"_*.jsonl
  cat "$scratch/$name"/*.jsonl >"$output_dir/${name}_$date.jsonl"
}

# fit_results FOLDER: what run_all.sh or fit_cards.sh left there of what fits.
fit_results() {
  mkdir -p results/fit
  rm -f results/fit/*
  cp "$1"/fit_* "$1/guide_7b.json" results/fit/ || status=3
}

virtual_results() {
  output_dir=results/virtual
  need_headroom
  assignment h200 --device virtual:h200
  sweep allocator_settings --model-size 2.7B --context-length 512 --profile-type training --device virtual:h200 \
    --warmup-steps 2 --measure-steps 1 --record-steps 0 --alloc-conf \
    'default;expandable_segments:True;max_split_size_mb:128;roundup_power2_divisions:4;large_segment_size_mb:64;backend:cudaMallocAsync'
  "$headroom" table summary "$output_dir/allocator_settings.jsonl" --format md | into allocator_settings.md
  ./scripts/profile_attention.sh --device virtual:h200 --output-dir "$scratch/attention" || status=3
  cp "$scratch/attention"/attention{.jsonl,_by_context.csv,_by_context.md,_guide_layer.md} "$output_dir/" || status=3
  fit_results "$scratch/h200"
}

cpu_results() {
  output_dir=results/cpu
  need_headroom
  assignment small --device cpu --model-size small
  sweep residuals --model-size small,medium,large,xl,2.7B --context-length 128 --batch-size 1 \
    --profile-type forward-grad --precision fp32,bf16 --attention eager,sdpa --device cpu \
    --warmup-steps 0 --measure-steps 0 --stacks none
  "$headroom" table residuals "$output_dir/residuals.jsonl" --format md | into residuals.md
}

[[ $# -gt 0 ]] || set -- virtual cpu
for part in "$@"; do
  case $part in
    virtual) virtual_results ;;
    cpu) cpu_results ;;
    fit)
      output_dir=results/fit
      need_headroom
      ./scripts/fit_cards.sh --device virtual:h200 --output-dir "$scratch/fit" || status=3
      fit_results "$scratch/fit"
      ;;
    *)
      printf "reference_results.sh: unknown part '%s' (allowed: virtual, cpu, fit; example: reference_results.sh virtual)\n" "$part" >&2
      exit 2
      ;;
  esac
done
exit "$status"
