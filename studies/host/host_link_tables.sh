#!/usr/bin/env bash
# Prints what the host link and a disk cost a training step at least, for sizes and sets of offloads, from
# `headroom theory`: host_link.md, disk.md.
#   host_link_tables.sh [--output-dir DIR]      DIR defaults to results/virtual
# Exit codes: 0 the tables are written, 2 usage, 3 a step was refused, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/virtual
unset -v file # takes none
read_options "$@"
need_headroom

scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
for table in host_link disk; do
  python3 -I studies/host/host_link_table.py "$headroom" "${table#host_}" >"$scratch" || exit 3
  into "$table.md" <"$scratch"
done
