#!/usr/bin/env bash
# Part (c): what mixed precision changes, FP32 beside BF16 at the largest context.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

part_c() {
  local stem=mixed_precision_memory_summary
  cells $stem precision "$largest_context" forward,training fp32,bf16 &&
    write_tables $stem text "$headroom" table mixed-precision "$output_dir/$stem.jsonl"
}

run_alone "${BASH_SOURCE[0]}" part_c "Part (c): FP32 beside BF16 at the largest context." "$@"
