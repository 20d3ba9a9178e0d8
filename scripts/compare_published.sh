#!/usr/bin/env bash
# Runs the cells of a published measurement on the virtual card it was made on, and prints both.
#   compare_published.sh [--output-dir DIR] [FILE]   FILE defaults to results/published/a800_cs336.json;
#                                                    DIR gets published.jsonl and published.md
# Exit codes: 0 every cell ran, 2 usage, 3 some cells failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output_dir=results/virtual
file=results/published/a800_cs336.json
while [[ $# -gt 0 ]]; do
  case $1 in
    --output-dir)
      [[ $# -ge 2 ]] || { printf '%s needs a value\n' "$1" >&2 && exit 2; }
      output_dir=$2
      shift 2
      ;;
    -*) printf "compare_published.sh: unknown option '%s' (allowed: --output-dir DIR)\n" "$1" >&2 && exit 2 ;;
    *) file=$1 && shift ;;
  esac
done
[[ -r $file ]] || { printf '%s cannot be read\n' "$file" >&2 && exit 2; }
headroom=${HEADROOM_BIN:-build/release/bin/headroom}
[[ -x $headroom ]] || { printf '%s is not built: ./scripts/run_all.sh builds it\n' "$headroom" >&2 && exit 5; }
mkdir -p "$output_dir"
axis() { python3 -IS -c 'import json, sys
print(",".join(dict.fromkeys(str(cell[sys.argv[2]]) for cell in json.load(open(sys.argv[1]))["cells"])))' "$file" "$1"; }
device=$(python3 -IS -c 'import json, sys; print(json.load(open(sys.argv[1]))["device"])' "$file")
status=0
"$headroom" sweep --model-size 2.7B --device "$device" --context-length "$(axis context_length)" \
  --profile-type "$(axis profile_type)" --precision "$(axis precision)" \
  --warmup-steps 2 --measure-steps 1 --record-steps 0 --format jsonl >"$output_dir/published.jsonl" || status=$?
python3 -IS scripts/lib/published_table.py "$file" "$output_dir/published.jsonl" >"$output_dir/published.md"
cat "$output_dir/published.md"
exit "$status"
