#!/usr/bin/env bash
# Computes what public sources print about the memory of transformers, and prints both.
#   compare_anchors.sh [--output-dir DIR] [FILE]   FILE defaults to results/published/planning_anchors.json;
#                                                  DIR (default results/plan) gets anchors.md
# Exit codes: 0 every anchor holds, 1 one does not, 2 usage, 5 headroom is not built or a command failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output_dir=results/plan
file=results/published/planning_anchors.json
while [[ $# -gt 0 ]]; do
  case $1 in
    --output-dir)
      [[ $# -ge 2 ]] || { printf '%s needs a value\n' "$1" >&2 && exit 2; }
      output_dir=$2
      shift 2
      ;;
    -*) printf "compare_anchors.sh: unknown option '%s' (allowed: --output-dir DIR)\n" "$1" >&2 && exit 2 ;;
    *) file=$1 && shift ;;
  esac
done
[[ -r $file ]] || { printf '%s cannot be read\n' "$file" >&2 && exit 2; }
headroom=${HEADROOM_BIN:-build/release/bin/headroom}
[[ -x $headroom ]] || { printf '%s is not built: cmake --build --preset release builds it\n' "$headroom" >&2 && exit 5; }
mkdir -p "$output_dir"
status=0
python3 -IS scripts/lib/anchor_table.py "$file" "$headroom" >"$output_dir/anchors.md.partial" || status=$?
if [[ $status -gt 1 ]]; then
  rm -f "$output_dir/anchors.md.partial"
  exit "$status"
fi
mv "$output_dir/anchors.md.partial" "$output_dir/anchors.md"
# What the README shows of it.
awk '/^### / { shown = /cache in vLLM/ } shown' "$output_dir/anchors.md" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' \
  >"$output_dir/anchors_cache.md"
cat "$output_dir/anchors.md"
exit "$status"
