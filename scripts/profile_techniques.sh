#!/usr/bin/env bash
# The gain and the cost of each memory technique: peak, saving, time, loss, and the claims that are
# made for it. Writes techniques.jsonl, .md and .csv, some of the rows as techniques_short.md, and the peaks
# against the times, those of a small step on the CPU where no card timed the steps, as techniques.svg.
# shellcheck source-path=SCRIPTDIR source=lib/driver.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/driver.sh"

# In rounds of all rows; each costs four minutes.
technique_rounds=${TECHNIQUE_ROUNDS:-1}
# Not empty: times of compiled kernels too; their first use compiles for ten minutes.
technique_compiled=${TECHNIQUE_COMPILED:+--compiled}

draw_techniques() {
  python3 -IS scripts/lib/techniques/table.py "$1.jsonl" --format timed |
    "$headroom" plot - --x step-ms --y peak --by techniques --output "$1.svg"
}

part_techniques() {
  local stem=$output_dir/techniques
  if [[ $device == cpu ]]; then
    say "techniques: left out on the CPU, whose allocator gives no peak to compare"
    return
  fi
  step techniques measured python3 -IS scripts/lib/techniques/run.py "$headroom" --records "$stem.jsonl" \
    --cells "$output_dir/cells" --device "$device" --model-size "$model_size" \
    --context-length "$largest_context" --rounds "$technique_rounds" \
    ${technique_compiled:+"$technique_compiled"}
  [[ -s $stem.jsonl ]] || return
  step techniques.md write_output "$stem.md" python3 -IS scripts/lib/techniques/table.py "$stem.jsonl"
  step techniques_short.md write_output "${stem}_short.md" python3 -IS scripts/lib/techniques/table.py "$stem.jsonl" --format short
  step techniques.csv write_output "$stem.csv" python3 -IS scripts/lib/techniques/table.py "$stem.jsonl" --format csv
  step techniques.svg draw_techniques "$stem"
  cat "$stem.md"
}

run_alone "${BASH_SOURCE[0]}" part_techniques "What each memory technique buys and costs." "$@"
