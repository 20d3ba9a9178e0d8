#!/usr/bin/env bash
# Part (d): the size of one activation tensor of the residual stream, derived. Nothing is run.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

part_d() {
  write_tables activation_size_analysis text \
    "$headroom" theory --model-size "$model_size" --context-length "$largest_context" --device "$device" && return
  local status=$?
  # Alone, nothing before it has judged the flags.
  [[ -n $driver_records ]] || stop_if_hopeless "$status"
}

run_alone "${BASH_SOURCE[0]}" part_d "Part (d): the size of one residual-stream tensor, derived." "$@"
