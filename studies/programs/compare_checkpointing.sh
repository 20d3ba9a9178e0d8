#!/usr/bin/env bash
# Runs somebody's benchmark of activation checkpointing, unmodified, on a virtual card as full as theirs was, and prints what
# their log and ours say of memory.
#   compare_checkpointing.sh [--output-dir DIR] CHECKOUT   CHECKOUT: of the repository that
#                                                          results/published/titan_rtx_checkpointing.json names;
#                                                          DIR (default results/virtual) gets titan_rtx.json, titan_rtx.md
# PYTHON (default .venv/bin/python) has torch and what the program imports: einx==0.3.0 tiktoken pandas matplotlib.
# Exit codes: 0 it ran, 2 usage, 3 the program failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/virtual
file=${*: -1}
read_options "$@"
need_headroom
published=results/published/titan_rtx_checkpointing.json
program=$file/python/memopt/benchmark/mem_actckpt.py
[[ -r $program ]] || { printf "'%s' is no checkout of that repository: python/memopt/benchmark/mem_actckpt.py is missing\n" "$file" >&2 && exit 2; }
file=$(realpath "$file")
python=$(realpath -s "${PYTHON:-.venv/bin/python}")
mapfile -t flags < <(python3 -IS -c 'import json, sys; print(*json.load(open(sys.argv[1]))["flags"], sep="\n")' "$published")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The log is of a host with an older Linux: Note [Placement].
printf '{"cards": [{"name": "t4", "host_linux": "5.15"}]}\n' >"$work/cards.json"
export HEADROOM_CARDS=$work/cards.json
headroom=$(realpath "$headroom")
# The pictures and tables of the program go to the folder that it runs in.
if ! (cd "$work" && PYTHONPATH="$file/python${PYTHONPATH:+:$PYTHONPATH}" \
  "$headroom" dryrun "${flags[@]}" -- "$python" -m memopt.benchmark.mem_actckpt oom >"$work/log" 2>&1); then
  tail -n 5 "$work/log" >&2
  exit 3
fi
versions=$("$python" -c 'from importlib.metadata import version
print(", ".join(f"{name} {version(name)}" for name in ("torch", "einx")))')
python3 -IS studies/programs/checkpointing_table.py read "$work/log" >"$work/cells"
python3 -IS -c 'import json, sys
cells = json.load(open(sys.argv[1]))
print(json.dumps({"command": sys.argv[2], "versions": sys.argv[3], "cells": cells}, indent=1))' \
  "$work/cells" "headroom dryrun ${flags[*]} -- python -m memopt.benchmark.mem_actckpt oom" "$versions" | into titan_rtx.json
python3 -IS studies/programs/checkpointing_table.py table "$published" "$output_dir/titan_rtx.json" | into titan_rtx.md
cat "$output_dir/titan_rtx.md"
