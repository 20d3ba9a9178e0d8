#!/usr/bin/env bash
# The committed planning tables are what the program prints today.
# Usage: plan_tables_test.sh HEADROOM, from the top of the tree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
HEADROOM_BIN=$1 ./scripts/plan_tables.sh --output-dir "$folder" 2>"$folder/talk"
status=0
for file in "$folder"/*.md "$folder"/*.svg; do
  diff -u "results/plan/${file##*/}" "$file" || status=1
done
[[ $status -eq 0 ]] || echo 'results/plan is not what the program prints: run scripts/plan_tables.sh and scripts/update_docs.sh'
exit "$status"
