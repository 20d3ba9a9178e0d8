#!/usr/bin/env bash
# Written-out attention beside the flash kernel over contexts 128 to 16,384, BF16 autocast, batch 1; and one
# layer of the shape that the memory guide speaks of. A cell that runs out of memory is a row of the
# table, not a failure.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"
: "${CONTEXTS:=128,256,512,1024,2048,4096,8192,16384}"

# attention_sweep FLAGS...: the grid's Records join attention_records.
attention_sweep() {
  local status name
  sweep --device "$device" --batch-size 1 --warmup-steps "$warmup_steps" --measure-steps "$measure_steps" \
    --stacks none "$@"
  status=$?
  stop_if_hopeless "$status"
  driver_steps=$((driver_steps + 1))
  while IFS= read -r name; do failed "$name"; done < <(other_failures <<<"$sweep_rows")
  [[ -n $sweep_rows ]] || failed "attention (sweep exit $status)"
  attention_records+=$sweep_rows$'\n'
}

part_attention() {
  local attention_records='' table=(python3 -IS "$driver_root/scripts/lib/records/attention_table.py" "$headroom")
  if [[ $device == cpu ]]; then
    say "attention: left out on the CPU, whose memory it exceeds"
    return
  fi
  attention_sweep --model-size "$model_size" --context-length "$contexts" \
    --profile-type forward-backward --precision bf16 --attention eager,flash
  # The guide's layer: 32 heads, 8,192 tokens; of a model of 7B. FP32 is not for the flash kernel.
  attention_sweep --model-size 7b --layers 1 --context-length 8192 --profile-type forward-grad \
    --precision fp32 --attention eager,efficient
  attention_sweep --model-size 7b --layers 1 --context-length 8192 --profile-type forward-grad \
    --precision bf16 --attention eager,flash
  [[ -n ${attention_records//[$'\n']/} ]] || return # not one result: no table either
  write_output "$output_dir/attention.jsonl" grep . <<<"$attention_records" ||
    failed "attention.jsonl (cannot be written)"
  write_tables attention_by_context text "${table[@]}" context "$output_dir/attention.jsonl"
  write_tables attention_guide_layer text "${table[@]}" layer "$output_dir/attention.jsonl"
}

run_alone "${BASH_SOURCE[0]}" part_attention "Attention: written out beside flash, by context." "$@"
