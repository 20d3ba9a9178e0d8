#!/usr/bin/env bash
# Host memory and step time of a step that offloads its activations, on the CPU, under three
# allocators of host memory and two of their settings; writes allocators.jsonl, .csv and .md.
#   compare_allocators.sh [--output-dir DIR]      DIR defaults to results/cpu
# ROUNDS=N (default 2) of all rows, STEPS=N (default 100) of each. About three minutes; nothing else
# should run on the machine meanwhile.
# Exit codes: 0 the table is written, 2 usage, 3 a run failed, 5 headroom or an allocator is missing.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 5
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/usage.sh
source scripts/lib/usage.sh
help_asked "${1:-}"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/cpu
unset -v file # takes none
read_options "$@"
need_headroom

# Allocator, and what the environment tells it.
rows=(
  'glibc'
  'glibc MALLOC_ARENA_MAX=1'
  'jemalloc'
  'jemalloc MALLOC_CONF=background_thread:true,dirty_decay_ms:0'
  'tcmalloc'
)
for allocator in jemalloc tcmalloc; do studies/host/with_allocator.sh "$allocator" true || exit; done
unset MALLOC_ARENA_MAX MALLOC_CONF LD_PRELOAD

scratch=$(mktemp -d) || exit 5
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
status=0

# measure ROUND ALLOCATOR [VARIABLE]: its Record, marked with them, joins the others.
measure() {
  local code=0
  printf 'round %s: %s\n' "$1" "${*:2}" >&2
  env "${@:3}" studies/host/with_allocator.sh "$2" "$headroom" profile --device cpu --model-size custom \
    --d-model 256 --d-ff 1024 --layers 4 --heads 4 --vocab-size 10000 --context-length 128 \
    --batch-size 2 --profile-type training --optimizer-impl fused --activations offload:min=64KiB \
    --warmup-steps 2 --measure-steps "${STEPS:-100}" --record-steps 0 --format json \
    >"$scratch/record" 2>"$scratch/talk" || code=$?
  [[ $code -ne 130 && $code -ne 2 ]] || { tail -n 1 "$scratch/talk" >&2 && exit "$code"; }
  [[ $code -eq 0 ]] || { tail -n 1 "$scratch/talk" >&2 && status=3; }
  python3 -IS studies/host/allocator_table.py mark "$1" "$2" "${3:-}" <"$scratch/record" \
    >>"$scratch/records" || status=3
}

for ((round = 1; round <= ${ROUNDS:-2}; round++)); do
  for row in "${rows[@]}"; do
    read -ra words <<<"$row"
    measure "$round" "${words[@]}"
  done
done
[[ -s $scratch/records ]] || exit 3
sed "s|$PWD/||g" "$scratch/records" | into allocators.jsonl
for format in csv md; do
  python3 -IS studies/host/allocator_table.py "$format" <"$output_dir/allocators.jsonl" >"$scratch/table" &&
    into "allocators.$format" <"$scratch/table" || status=3
done
cat "$output_dir/allocators.md"
exit "$status"
