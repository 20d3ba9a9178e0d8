#!/usr/bin/env bash
# Parts (a) to (e) of the assignment's memory-profiling section first. Then the other programs are built, and all sizes, the
# memory techniques and what fits a card follow. A cell that several parts want runs once, and a second run only redoes
# what is missing.
part_folder=$(dirname "${BASH_SOURCE[0]}")
for part in part_a part_b part_c part_d part_e sizes techniques; do
  # shellcheck source-path=SCRIPTDIR source=profile_part_a.sh
  source "$part_folder/profile_$part.sh"
done
# shellcheck source-path=SCRIPTDIR source=fit_cards.sh
source "$part_folder/fit_cards.sh"

# Builds the Google Benchmark program and libraries of `headroom dryrun`. No part runs them, so the first tables do not wait
# for them.
build_others() {
  [[ -z "${HEADROOM_BIN:-}" ]] || return 0 # a program that is already built
  step headroom_bench build headroom_bench headroom_operations headroom_breakdown
}

# One page of everything: the Records and a snapshot of each cell. `_fp32_` names are second names.
write_report() {
  local snapshot files=()
  for snapshot in "$output_dir/${model_size}"_ctx*_snapshot.pickle; do
    [[ ! -f $snapshot || $snapshot == *_fp32_snapshot.pickle ]] || files+=("$snapshot")
  done
  [[ ! -f $records ]] || files+=("$records")
  [[ ${#files[@]} -gt 0 ]] || return 0 # every cell failed, which is said already
  step report.html "$headroom" report "${files[@]}" --output "$output_dir/report.html"
}

# The files by kind, and the numbers that a reader wants first.
say_what_was_made() {
  local tables snapshots
  tables=$(cd "$output_dir" && printf '%s\n' ./*.md | sed -n 's/^\.\/\([^*]*\)\.md$/\1/p' | paste -s -d ' ')
  snapshots=$(find "$output_dir" -maxdepth 1 -name '*_snapshot.pickle' | wc -l)
  printf '\n== what was made, in %s\n' "$output_dir"
  {
    printf 'tables (.md)   %s\n' "$tables"
    printf 'snapshots      %d, for https://pytorch.org/memory_viz\n' "$snapshots"
    [[ ! -f $output_dir/report.html ]] || printf 'report         report.html: open it in a browser\n'
    printf 'measurements   records.jsonl, one line for each configuration\n'
    python3 -IS "$driver_root/scripts/lib/records/first_numbers.py" "$output_dir" "$model_size" "$headroom"
  } | while IFS= read -r line; do
    case $line in
      'look further '*) printf '%s\n' "$line" ;; # a command stays whole
      *) fold -s -w 160 <<<"$line" ;;
    esac
  done
}

all_parts() {
  local part
  for part in a b c d e; do
    say "== part ($part)"
    "part_$part"
  done
  build_others
  say "== all sizes"
  part_sizes
  say "== memory techniques"
  part_techniques
  say "== what fits a card"
  part_fit
  write_report
  say_what_was_made
}

run_alone "${BASH_SOURCE[0]}" all_parts "All parts (a) to (e) of the memory-profiling section, and the memory techniques." "$@"
