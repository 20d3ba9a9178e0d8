#!/usr/bin/env bash
# Allocates, rank by rank on virtual cards, what others published of ranks of their runs on several GPUs, and prints both.
#   compare_mesh_figures.sh [--output-dir DIR] [FILE]   FILE defaults to results/published/mesh_figures.json;
#                                                       DIR (default results/parallel) gets public_figures.jsonl, .md
# Exit codes: 0 every row is exact, 1 one is not, 2 usage, 3 a run failed, 5 headroom is not
# built, a figure names what no run has or a file cannot be written; the old table stays.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/usage.sh
source scripts/lib/usage.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
help_asked "${1:-}"
output_dir=results/parallel
file=results/published/mesh_figures.json
read_options "$@"
need_headroom

table() { python3 -S studies/published/mesh_figures_table.py "$@"; }
records=$output_dir/public_figures.jsonl
status=0
table run "$file" "$headroom" >"$records.tmp" || status=$?
if [[ $status -ne 0 ]]; then
  rm -f "$records.tmp"
  [[ $status -eq 1 ]] && exit 3
  exit "$status"
fi
mv "$records.tmp" "$records"
shown=$(table show "$file" "$records") || status=$?
[[ $status -le 1 ]] || exit "$status"
into public_figures.md <<<"$shown"
cat "$output_dir/public_figures.md"
exit "$status"
