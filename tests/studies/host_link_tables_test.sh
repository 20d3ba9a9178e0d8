#!/usr/bin/env bash
# The committed table of copies beside arithmetic is what the program prints today.
# Usage: host_link_tables_test.sh HEADROOM, from the top of the tree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
HEADROOM_BIN=$1 ./studies/host/host_link_tables.sh --output-dir "$folder" 2>"$folder/talk"
status=0
for file in "$folder"/*.md; do
  diff -u "results/virtual/${file##*/}" "$file" || status=1
done
[[ $status -eq 0 ]] || echo 'results/virtual is not what the program prints: run studies/host/host_link_tables.sh and scripts/upkeep/update_docs.sh'
exit "$status"
