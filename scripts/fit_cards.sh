#!/usr/bin/env bash
# The steps that fit a card of 24 GB, and the changes that they need: `headroom fit` of the size on an RTX 4090 at the largest
# context, and of 7b, batch 1 and context 2048, there and on the next larger card, and there again where the host has
# 32 GiB and a disk (fit_7b_disk). Writes fit_<size>.json, .md and .svg, and fit_short.md: the cheapest sets of each,
# before those of 7b the configuration that a guide gives for 7B on 24 GB, as it has it (guide_7b.json). That nothing
# fits a card is an answer, not a failure.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

fit_answer() {
  local status
  measured "$headroom" fit --records "$output_dir/cells/fit.jsonl" "$@"
  status=$?
  return "$((status == 4 ? 0 : status))"
}

# fit_question NAME SIZE FLAGS...: the tables find what the document has run.
fit_question() {
  local name=fit_$1 stem=$output_dir/fit_$1
  local asked=(--model-size "${@:2}")
  step "$name.json" write_output "$stem.json" fit_answer "${asked[@]}" --output "$stem.svg" --format json || return
  step "$name.md" write_output "$stem.md" fit_answer "${asked[@]}" --format md || return
  fit_documents+=("$stem.json")
}

# "7B Model on Single 24GB GPU": bf16, gradient checkpointing, batch size 1 accumulated 16 times, 8-bit Adam, flash
# attention; it names no context. On a card without an end, so that the peak is seen.
guide_configuration() {
  step guide_7b.json write_output "$output_dir/guide_7b.json" measured "$headroom" profile \
    --model-size 7b --context-length 2048 --batch-size 16 --micro-batches 16 --profile-type training --param-dtype bf16 \
    --optimizer adam8bit --recompute full --attention sdpa --device virtual:rtx4090,bytes=unlimited \
    --warmup-steps 2 --measure-steps 2 --record-steps 0 --format json || return
  fit_documents+=("$output_dir/guide_7b.json")
}

part_fit() {
  local fit_documents=()
  if [[ $device == cpu ]]; then
    say "fit: left out where the CPU is asked for"
    return
  fi
  fit_question "$model_size" "$model_size" --batch-size 4 --context-length "$largest_context" --card rtx4090
  if [[ -z ${MODEL_SIZE:-} ]]; then
    guide_configuration
    fit_question 7b 7b --batch-size 1 --context-length 2048 --card rtx4090,a100-40gb
    # A virtual card's files are counted, not written: any directory will do.
    fit_question 7b_disk 7b --batch-size 1 --context-length 2048 --card rtx4090 --host-memory 32GiB --disk /tmp
  fi
  [[ ${#fit_documents[@]} -gt 0 ]] || return
  step fit_short.md write_output "$output_dir/fit_short.md" \
    python3 -IS "$driver_root/scripts/lib/records/fit_table.py" "${fit_documents[@]}" || return
  cat "$output_dir/fit_short.md"
}

run_alone "${BASH_SOURCE[0]}" part_fit "What fits a card of 24 GB, and what to change." "$@"
