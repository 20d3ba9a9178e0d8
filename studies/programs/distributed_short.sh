#!/usr/bin/env bash
# For scripts that compare distributed runs: distributed_short.md of what $output_dir has of both kinds.
# shellcheck disable=SC2154 # output_dir is theirs

write_distributed_short() {
  local golden=$output_dir/megatron_golden.json programs=("$output_dir"/distributed_*.json)
  [[ -s $golden && -s ${programs[0]} ]] || return 0
  python3 -S studies/programs/distributed_short.py results/published/megatron_golden.json "$golden" \
    results/published/distributed_programs.json "${programs[@]}" | into distributed_short.md
}
