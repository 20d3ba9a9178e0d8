#!/usr/bin/env bash
# Part (a): what memory looks like over time, in a forward pass and in a training step at the
# largest context.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

part_a() {
  cells memory_timeline plain "$largest_context" forward,training fp32
}

run_alone "${BASH_SOURCE[0]}" part_a "Part (a): snapshots of a forward pass and of a training step." "$@"
