#!/usr/bin/env bash
# The outputs in the README and docs/ are those that the program prints today.
# Usage: readme_outputs_test.sh HEADROOM, from the top of the tree. Line numbers of our sources are not
# compared: a comment more in a source must not make a document wrong. By day (without HEADROOM_LONG) the quick ones.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
without_lines() { sed -E 's/(\.(cpp|h|py)):[0-9]+/\1/g' "$1"; }
status=0
absent='dryrun|finetune|serve'  # their Python packages may not be there
if [[ -z ${HEADROOM_LONG:-} ]]; then
  export README_OUTPUTS=few
  absent+='|fit_meshes|fit_32b'
fi
HEADROOM_BIN=$1 ./scripts/upkeep/readme_outputs.sh --output-dir "$folder" || status=$?
[[ $status -ne 5 ]] || status=0 # no Python with torch: what it wrote is compared
for file in results/readme/*; do
  written=$folder/${file##*/}
  [[ -e $written || ! $file =~ /($absent) ]] || continue
  diff -u --label "$file" --label "$file, printed today" <(without_lines "$file") <(without_lines "$written") || status=1
done
[[ $status -eq 0 ]] || echo 'results/readme is not what the program prints: run scripts/upkeep/readme_outputs.sh and scripts/upkeep/update_docs.sh'
exit "$status"
