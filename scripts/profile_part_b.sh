#!/usr/bin/env bash
# Part (b): peak memory of a forward pass and of a training step, at every context.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

part_b() {
  local stem=peak_memory_summary
  cells $stem plain "$contexts" forward,training fp32 &&
    write_tables $stem text "$headroom" table peak-memory "$output_dir/$stem.jsonl"
}

run_alone "${BASH_SOURCE[0]}" part_b "Part (b): peak memory at every context." "$@"
