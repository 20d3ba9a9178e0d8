#!/usr/bin/env bash
# Peak memory of all six named sizes, or of the one that is asked for, at every context, mode and
# precision, and of 2.7B at a context that an 80 GB card cannot hold. A cell that runs out of memory is
# a row of the table, not a failure.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

# memory_sweep FLAGS...: the grid's Records join sizes_records.
memory_sweep() {
  local status name
  sweep --warmup-steps "$warmup_steps" --measure-steps "$measure_steps" --record-steps 0 "$@"
  status=$?
  stop_if_hopeless "$status"
  driver_steps=$((driver_steps + 1))
  while IFS= read -r name; do failed "$name"; done < <(other_failures <<<"$sweep_rows")
  [[ -n $sweep_rows ]] || failed "all sizes (sweep exit $status)"
  sizes_records+=$sweep_rows$'\n'
}

part_sizes() {
  local stem=all_sizes_memory_summary sizes_records=
  if [[ $device == cpu ]]; then
    say "all sizes: left out on the CPU, whose memory they exceed"
    return
  fi
  memory_sweep --model-size "$all_sizes" --context-length "$contexts" --device "$device" \
    --profile-type forward,forward-grad,training --precision fp32,bf16
  if [[ $device == virtual:* && ,$all_sizes, == *,2.7B,* ]]; then
    memory_sweep --model-size 2.7B --context-length 2048 --device virtual:a100-80gb \
      --profile-type forward,forward-grad,training --precision fp32,bf16
  fi
  [[ -n ${sizes_records//[$'\n']/} ]] || return # not one result: no table either
  write_output "$output_dir/$stem.jsonl" grep . <<<"$sizes_records" || failed "$stem.jsonl (cannot be written)"
  write_tables $stem text "$headroom" table peak-memory "$output_dir/$stem.jsonl"
}

run_alone "${BASH_SOURCE[0]}" part_sizes "Peak memory of all six sizes; out of memory is a row." "$@"
