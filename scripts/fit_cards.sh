#!/usr/bin/env bash
# What fits a card of 24 GB, and what to change: `headroom fit` of the size on an RTX 4090 at the largest
# context, and of 7b, batch 1 and context 2048, there and on the next larger card. Writes fit_<size>.json,
# .md and .svg, and fit_short.md: the first sets of each. That nothing fits a card is an answer, not a failure.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

fit_answer() {
  local status
  measured "$headroom" fit --records "$output_dir/cells/fit.jsonl" "$@"
  status=$?
  return "$((status == 4 ? 0 : status))"
}

# fit_question SIZE FLAGS...: the tables find what the document has run.
fit_question() {
  local name=fit_$1 stem=$output_dir/fit_$1
  local asked=(--model-size "$@")
  step "$name.json" write_output "$stem.json" fit_answer "${asked[@]}" --output "$stem.svg" --format json || return
  step "$name.md" write_output "$stem.md" fit_answer "${asked[@]}" --format md || return
  fit_documents+=("$stem.json")
}

part_fit() {
  local fit_documents=()
  if [[ $device == cpu ]]; then
    say "fit: left out where the CPU is asked for"
    return
  fi
  fit_question "$model_size" --batch-size 4 --context-length "$largest_context" --card rtx4090
  [[ -n ${MODEL_SIZE:-} ]] || fit_question 7b --batch-size 1 --context-length 2048 --card rtx4090,a100-40gb
  [[ ${#fit_documents[@]} -gt 0 ]] || return
  step fit_short.md write_output "$output_dir/fit_short.md" \
    python3 -IS "$driver_root/scripts/lib/fit_table.py" "${fit_documents[@]}"
  cat "$output_dir/fit_short.md"
}

run_alone "${BASH_SOURCE[0]}" part_fit "What fits a card of 24 GB, and what to change." "$@"
