#!/usr/bin/env bash
# The committed tables of fits are those that the program finds today.
# Usage: fit_cards_test.sh HEADROOM, from the top of the tree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
HEADROOM_BIN=$1 ./scripts/fit_cards.sh --device virtual:h200 --output-dir "$folder" >"$folder/talk" 2>&1 ||
  { tail -n 5 "$folder/talk" && exit 1; }
status=0
for file in "$folder"/fit_*.md "$folder"/fit_*.svg; do
  diff -u "results/fit/${file##*/}" "$file" || status=1
done
[[ $status -eq 0 ]] || echo 'results/fit is not what the program finds: run studies/reference_results.sh fit and scripts/upkeep/update_docs.sh'
exit "$status"
