#!/usr/bin/env bash
# Runs the program whose snapshots of memory a real card recorded, unmodified, on a virtual card, and compares the snapshots
# event by event.
#   compare_snapshots.sh [--output-dir DIR] CHECKOUT   CHECKOUT: a git directory of the repository that
#                                                      results/published/real_snapshots.json names;
#                                                      DIR (default results/virtual) gets real_snapshots.jsonl and .md
# TORCH (default: that of its lock file): the version, installed into build/wheels; the packages come into build/stacks.
# Exit codes: 0 they ran, 2 usage, 3 a run failed, 5 headroom is not built, or a package cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/torch_environment.sh
source scripts/lib/torch_environment.sh
output_dir=results/virtual
file=${*: -1}
read_options "$@"
need_headroom
published=$PWD/results/published/real_snapshots.json
studies=$PWD/studies/published
field() { python3 -IS -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$published" "$1"; }
checkout=$(realpath "$file")
commit=$(field commit)
git -C "$checkout" cat-file -e "$commit:data/memory_profiles" 2>/dev/null ||
  { printf "'%s' has no %s of the repository that %s names\n" "$file" "$commit" "${published##*/}" >&2 && exit 2; }
headroom=$(realpath "$headroom")
rows=$(realpath -m "$output_dir/real_snapshots.jsonl")
version=${TORCH:-$(field torch)}
card=$(field card)
python=$(torch_python "$version") || exit 5
packages=$(python_packages course "$python") || exit 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pretend_installed "$work/code" cs336-systems
git -C "$checkout" archive "$commit" '*.py' 2>/dev/null | tar -x -C "$work/code"
touch "$rows"
while IFS=$'\t' read -r folder context more; do
  read -ra words <<<"$(field words) $more"
  printf 'torch %s, %s, context %s\n' "$version" "$folder" "$context" >&2
  git -C "$checkout" show \
    "$commit:data/memory_profiles/$folder/d_model_1600_layers_48_heads_25_batch_4_ctx_${context}_memory_snapshot.pickle" >"$work/theirs.pickle"
  (cd "$work/code" && PYTHONPATH=$PWD/cs336-basics:$PWD:$packages PYTHONDONTWRITEBYTECODE=1 "$headroom" dryrun --card "$card" \
    --skip-host-init -- "$python" benchmark.py --context_length "$context" "${words[@]}" --profile_memory \
    --memory_snapshot_file "$work/ours.pickle" >"$work/log" 2>&1 </dev/null) || { tail -n 5 "$work/log" >&2 && exit 3; }
  "$headroom" compare --format csv "$work/theirs.pickle" "$work/ours.pickle" >"$work/csv" </dev/null
  python3 -IS "$studies/snapshot_table.py" read "$folder" "$context" "$version" "$work/csv" >"$work/new"
  merge_rows "$rows" "$work/new" snapshot torch
done < <(python3 -IS "$studies/snapshot_table.py" list "$published")
python3 -IS "$studies/snapshot_table.py" table "$published" "$rows" | into real_snapshots.md
cat "$output_dir/real_snapshots.md"
