#!/usr/bin/env bash
# Runs the cells of a published measurement on the virtual card it was made on, by its own protocol, and prints both.
#   PYTHON=PROGRAM compare_published.sh --program CHECKOUT  runs the repository's own program under that Python alone,
#                                                    which has einops, einx, jaxtyping and the torch that it was measured
#                                                    with, and shows its figures beside
#   compare_published.sh [--output-dir DIR] [FILE]   FILE defaults to results/published/a800_cs336.json;
#                                                    DIR gets published.jsonl, published.md and
#                                                    published_peaks.md
# Exit codes: 0 every cell ran, 2 usage, 3 some cells failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/virtual
file=results/published/a800_cs336.json
if [[ ${1:-} == --program ]]; then
  [[ -d ${2:-} && -x ${PYTHON:-} ]] || { printf 'usage: PYTHON=PROGRAM compare_published.sh --program CHECKOUT [--output-dir DIR]\n' >&2 && exit 2; }
  checkout=$2
  shift 2
fi
read_options "$@"
need_headroom
if [[ -v checkout ]]; then
  "$headroom" dryrun --card a800-80gb --skip-host-init -- "$PYTHON" studies/published/program_cells.py "$checkout" "$output_dir/published_program.json" || exit 3
fi
axis() { python3 -IS -c 'import json, sys
print(",".join(dict.fromkeys(str(cell[sys.argv[2]]) for cell in json.load(open(sys.argv[1]))["cells"])))' "$file" "$1"; }
mapfile -t protocol < <(python3 -IS -c 'import json, sys; print(*json.load(open(sys.argv[1]))["protocol"]["flags"], sep="\n")' "$file")
device=$(python3 -IS -c 'import json, sys; print(json.load(open(sys.argv[1]))["device"])' "$file")
status=0
[[ -v checkout ]] || "$headroom" sweep --model-size 2.7B --device "$device" --context-length "$(axis context_length)" \
  --profile-type "$(axis profile_type)" --precision "$(axis precision)" \
  "${protocol[@]}" --format jsonl >"$output_dir/published.jsonl" || status=$?
table=(python3 -IS studies/published/published_table.py "$file" "$output_dir/published.jsonl")
"${table[@]}" >"$output_dir/published.md"
"${table[@]}" --peaks >"$output_dir/published_peaks.md"
cat "$output_dir/published.md"
exit "$status"
