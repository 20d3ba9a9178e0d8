#!/usr/bin/env bash
# Prints what the docs show of generation: its memory on a virtual card.
#   generation_tables.sh [--output-dir DIR]      DIR defaults to results/generate
# Exit codes: 0 all tables are written, 2 usage, 3 a run failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source-path=SCRIPTDIR source=lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/generate
unset -v file # takes none
read_options "$@"
need_headroom

for table in caches graphs; do
  python3 -I scripts/lib/generation_table.py "$headroom" "$table" >"$output_dir/$table.tmp" || exit 3
  into "$table.md" <"$output_dir/$table.tmp"
  rm "$output_dir/$table.tmp"
done
