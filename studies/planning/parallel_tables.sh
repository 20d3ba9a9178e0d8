#!/usr/bin/env bash
# Prints what docs/step/parallel.md shows of the guides' configurations of many ranks: every distinct rank
# allocated on a virtual card. Records in DIR/NAME.jsonl, and from them DIR/NAME.md.
#   parallel_tables.sh [--output-dir DIR] [NAME]   DIR defaults to results/parallel; NAME is zero_7b,
#                                                  guide_70b or guide_405b, all of them without one
# Exit codes: 0 all tables are written, 2 usage, 3 a run failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/parallel
names=(zero_7b guide_70b guide_405b)
if [[ $# -gt 0 && ${*: -1} != -* && ${*: -2:1} != --output-dir ]]; then
  [[ " ${names[*]} " == *" ${*: -1} "* ]] ||
    { printf "%s: unknown table '%s' (allowed: %s)\n" "${0##*/}" "${*: -1}" "${names[*]}" >&2 && exit 2; }
  names=("${@: -1}")
  set -- "${@:1:$#-1}"
fi
unset -v file # takes none
read_options "$@"
need_headroom

table() { python3 -S studies/planning/parallel_table.py "$@"; }
for name in "${names[@]}"; do
  table run "$headroom" "$name" >"$output_dir/$name.tmp" || exit 3
  mv "$output_dir/$name.tmp" "$output_dir/$name.jsonl"
  table show "$name" "$output_dir/$name.jsonl" | into "$name.md"
done
