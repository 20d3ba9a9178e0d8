#!/usr/bin/env bash
# Part (e): the largest allocations alive at the peak of a training step, with the code that made
# them.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

part_e() {
  local stem=largest_allocations
  local snapshot=$output_dir/${model_size}_ctx${largest_context}_training_snapshot.pickle
  cells $stem plain "$largest_context" training fp32
  [[ ! -f $snapshot ]] || write_tables $stem table "$headroom" snapshot top "$snapshot" --limit 10
}

run_alone "${BASH_SOURCE[0]}" part_e "Part (e): the largest allocations at the peak of a training step." "$@"
