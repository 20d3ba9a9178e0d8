#!/usr/bin/env bash
# Computes what public sources print about the memory of transformers, and prints both.
#   compare_anchors.sh [--output-dir DIR] [FILE]   FILE defaults to results/published/planning_anchors.json;
#                                                  DIR (default results/plan) gets anchors.md
# Exit codes: 0 every anchor holds, 1 one does not, 2 usage, 5 headroom is not built or a command failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/plan
file=results/published/planning_anchors.json
read_options "$@"
need_headroom
status=0
python3 -IS studies/published/anchor_table.py "$file" "$headroom" >"$output_dir/anchors.md.partial" || status=$?
if [[ $status -gt 1 ]]; then
  rm -f "$output_dir/anchors.md.partial"
  exit "$status"
fi
mv "$output_dir/anchors.md.partial" "$output_dir/anchors.md"
# The part that docs/results.md shows.
tables 'cache in vLLM' <"$output_dir/anchors.md" | into anchors_cache.md
cat "$output_dir/anchors.md"
exit "$status"
