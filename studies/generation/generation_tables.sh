#!/usr/bin/env bash
# Prints what the docs show of generation: its memory on a virtual card and, from the rounds in
# DIR/beside_transformers.jsonl, its time on the CPU beside transformers' generate(). Where
# transformers is there (PYTHONPATH) and tests/generate_program is built, the rounds are run anew.
#   generation_tables.sh [--output-dir DIR]      DIR defaults to results/generate
# Exit codes: 0 all tables are written, 2 usage, 3 a run failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/generate
unset -v file # takes none
read_options "$@"
need_headroom

python=.venv/bin/python
program=${headroom%/bin/headroom}/tests/generate_program
rounds=$output_dir/beside_transformers.jsonl
if [[ -x $program ]] && "$python" -c 'import transformers' 2>/dev/null; then
  for cache in contiguous paged; do
    for threads in 2 1; do
      "$python" tests/train/generate/transformers_test.py "$program" --rounds 3 --layers 12 --d-model 768 \
        --batch-size 4 --prompt-len 128 --response-len 64 --threads "$threads" --kv-cache "$cache" --type Llama --json || exit 3
    done
  done >"$rounds.tmp"
  mv "$rounds.tmp" "$rounds"
fi
[[ ! -s $rounds ]] || python3 -S studies/generation/generation_table.py speed "$rounds" | into beside_transformers.md

for table in caches graphs; do
  python3 -S studies/generation/generation_table.py "$headroom" "$table" >"$output_dir/$table.tmp" || exit 3
  into "$table.md" <"$output_dir/$table.tmp"
  rm "$output_dir/$table.tmp"
done
