#!/usr/bin/env bash
# The committed planning tables are what the program prints today.
# Usage: plan_tables_test.sh HEADROOM [rlhf_70b.md], from the top of the tree; with rlhf_70b.md that table alone, which the
# others repeat with other sizes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [[ ${2:-} == rlhf_70b.md ]]; then
  "$1" rlhf --model-size 70b --num-gpus 8 --gpu-memory 80 --format md >"$folder/rlhf_70b.md"
else
  HEADROOM_BIN=$1 ./studies/planning/plan_tables.sh --output-dir "$folder" 2>"$folder/talk"
fi
status=0
for file in "$folder"/*.md "$folder"/*.svg; do
  [[ -e $file ]] || continue
  diff -u "results/plan/${file##*/}" "$file" || status=1
done
[[ $status -eq 0 ]] || echo 'results/plan is not what the program prints: run studies/planning/plan_tables.sh and scripts/upkeep/update_docs.sh'
exit "$status"
