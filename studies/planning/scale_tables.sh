#!/usr/bin/env bash
# Prints what docs/planning/scale.md shows: what a step's ranks move and what that takes at least, from runs
# of one rank of each mesh on a virtual card.
#   scale_tables.sh [--output-dir DIR]      DIR defaults to results/parallel
# CARD=h100-80gb, one of cards/links.json. Exit codes: 0 all tables are written, 2 usage, 3 a run
# failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/usage.sh
source scripts/lib/usage.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
help_asked "${1:-}"
output_dir=results/parallel
unset -v file # takes none
read_options "$@"
need_headroom

python3 -I studies/planning/scale_table.py "$headroom" "${CARD:-h100-80gb}" "$output_dir/scale.jsonl" || exit 3
for table in formulas times; do
  python3 -I studies/planning/scale_table.py "$headroom" "${CARD:-h100-80gb}" "$output_dir/scale.jsonl" --print "$table" |
    into "scale_$table.md"
done
