#!/usr/bin/env bash
# What each memory technique buys and costs: peak, what it saves, time, loss, and the claims that are
# made for it. Writes techniques.jsonl, .md, .csv and .svg.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

# In rounds of all rows; more of them cost a minute each.
technique_rounds=${TECHNIQUE_ROUNDS:-2}

part_techniques() {
  local stem=$output_dir/techniques status=0
  if [[ $device == cpu ]]; then
    say "techniques: left out on the CPU, whose allocator gives no peak to compare"
    return
  fi
  python3 -IS scripts/lib/techniques/run.py "$headroom" --records "$stem.jsonl" --device "$device" \
    --model-size "$model_size" --context-length "$largest_context" --rounds "$technique_rounds" &
  driver_child=$!
  wait "$driver_child" || status=$?
  driver_child=
  driver_steps=$((driver_steps + 1))
  [[ $status -ne 130 ]] || exit 130
  [[ $status -eq 0 ]] || failed "techniques (exit $status)"
  [[ -s $stem.jsonl ]] || return
  step techniques.md write_output "$stem.md" python3 -IS scripts/lib/techniques/table.py "$stem.jsonl"
  step techniques.csv write_output "$stem.csv" python3 -IS scripts/lib/techniques/table.py "$stem.jsonl" --format csv
  step techniques.svg write_output "$stem.svg" python3 -IS scripts/lib/techniques/picture.py "$stem.jsonl"
  cat "$stem.md"
}

run_alone "${BASH_SOURCE[0]}" part_techniques "What each memory technique buys and costs." "$@"
