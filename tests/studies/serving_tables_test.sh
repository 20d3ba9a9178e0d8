#!/usr/bin/env bash
# The tables of results/serving are what their scripts print from the committed figures.
# Usage: serving_tables_test.sh HEADROOM, from the top of the tree
set -uo pipefail

failures=0
same() {
  local table=$1
  shift
  PYTHONDONTWRITEBYTECODE=1 python3 "$@" | diff "results/serving/$table" - && return
  printf 'FAILED: results/serving/%s is not what %s prints\n' "$table" "$*"
  failures=$((failures + 1))
}

same logs.md studies/serving/logs.py --table results/published/serving_logs.json results/serving/logs.json
same variants.md studies/serving/variants.py --table results/serving/variants.json
same outside_torch.md studies/serving/outside_torch.py results/published/{memory_outside_torch,serving_logs}.json \
  results/serving/logs.json results/h100-80gb/recipes_{real,virtual}.jsonl
same budget.md studies/serving/budget.py --table results/serving/budget.json "$1"
exit "$((failures > 0))"
