#!/usr/bin/env bash
# Prints what the docs show of iterations of PPO and GRPO on virtual cards: what is computed of each
# phase beside what is measured, and packed micro-batches beside fixed ones. Half a minute of processor for the largest, some seconds for each other.
#   ppo_tables.sh [--output-dir DIR]      DIR defaults to results/ppo
# Exit codes: 0 all tables are written, 2 usage, 3 a run failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/ppo
unset -v file # takes none
read_options "$@"
need_headroom

records=$output_dir/computed_beside_measured.jsonl
python3 -I studies/ppo/ppo_table.py run "$headroom" >"$records.tmp" || exit 3
mv "$records.tmp" "$records"
python3 -I studies/ppo/ppo_table.py table "$records" | into computed_beside_measured.md
python3 -S studies/ppo/packing_table.py "$headroom" >"$output_dir/packing.tmp" || exit 3
into packing.md <"$output_dir/packing.tmp"
rm "$output_dir/packing.tmp"
