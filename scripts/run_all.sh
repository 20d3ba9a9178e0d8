#!/usr/bin/env bash
# Every part of the assignment's memory-profiling section, one after another, then all sizes, then the
# memory techniques, then what fits a card. A cell that several parts want runs once, and a second run only redoes what is
# missing.
part_folder=$(dirname "${BASH_SOURCE[0]}")
for part in part_a part_b part_c part_d part_e sizes techniques; do
  # shellcheck source-path=SCRIPTDIR source=profile_part_a.sh
  source "$part_folder/profile_$part.sh"
done
# shellcheck source-path=SCRIPTDIR source=fit_cards.sh
source "$part_folder/fit_cards.sh"

all_parts() {
  local part
  for part in a b c d e; do
    say "== part ($part)"
    "part_$part"
  done
  say "== all sizes"
  part_sizes
  say "== memory techniques"
  part_techniques
  say "== what fits a card"
  part_fit
}

run_alone "${BASH_SOURCE[0]}" all_parts "All parts (a) to (e) of the memory-profiling section, and the memory techniques." "$@"
