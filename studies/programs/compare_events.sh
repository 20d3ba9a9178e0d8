#!/usr/bin/env bash
# Runs distributed programs of PyTorch with both timings of events (headroom dryrun --events both) and writes what each
# rank took at least and at most.
#   compare_events.sh [--output-dir DIR]   DIR (default results/virtual) gets events.json and events.md
# PYTHON (default .venv/bin/python) has torch.
# Exit codes: 0 they ran, 2 usage, 3 one failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/virtual
read_options "$@"
need_headroom
"${PYTHON:-.venv/bin/python}" studies/programs/event_bounds.py run "$(realpath "$headroom")" | into events.json || exit 3
python3 -IS studies/programs/event_bounds.py table "$output_dir/events.json" | into events.md
cat "$output_dir/events.md"
