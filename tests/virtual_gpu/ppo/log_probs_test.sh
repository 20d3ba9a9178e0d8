#!/usr/bin/env bash
# The committed table of what log-probabilities take, written out and in chunks, is what a virtual
# card says today, and its formula holds.
# Usage: log_probs_test.sh [--write] HEADROOM PROGRAM, from the top of the tree.
set -euo pipefail
write=0
if [[ $1 == --write ]]; then
  write=1
  shift
fi
table=results/ppo/log_probs.md
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
"$1" dryrun --card h200 -- "$2" log-probs 2>/dev/null >"$printed"
if [[ $write -eq 1 ]]; then
  cp "$printed" "$table"
else
  diff -u "$table" "$printed"
fi
