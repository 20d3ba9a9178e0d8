#!/usr/bin/env bash
# Runs other people's programs that print tables of memory, unmodified, on a virtual card with the torch of their lock files
# and with headroom's own, and prints how many cells are equal to theirs in every digit.
#   compare.sh [--output-dir DIR] CHECKOUT...   CHECKOUTs: git directories of repositories that
#                                               results/published/printed_tables.json names;
#                                               DIR (default results/virtual) gets printed_tables.jsonl and .md
# NAMES: only the programs whose name matches this expression, TORCH: only under versions that match this one; others of the
# .jsonl stay. torch is installed into build/wheels, the packages that the programs import into build/stacks.
# Exit codes: 0 they ran, 2 usage, 3 a program failed, 5 headroom is not built, or a package cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/torch_environment.sh
source scripts/lib/torch_environment.sh
output_dir=results/virtual
published=$PWD/results/published/printed_tables.json
studies=$PWD/studies/printed_tables
read_checkouts "$@"
readarray -t checkouts < <(realpath -m "${checkouts[@]}")
for checkout in "${checkouts[@]}"; do
  [[ -n $(python3 -IS "$studies/tables.py" programs "$published" "$checkout") ]] ||
    { printf "'%s' has no commit that %s names\n" "$checkout" "${published##*/}" >&2 && exit 2; }
done
need_headroom
headroom=$(realpath "$headroom")
rows=$(realpath -m "$output_dir/printed_tables.jsonl")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_under() { # TORCH NAME PACKAGES FOLDER PYTHONPATH WRITTEN FLAGS WORDS
  local python packages paths='' path flags program
  python=$(torch_python "$1") || exit 5
  packages=$(python_packages "$3" "$python") || exit 5
  while read -r path; do paths+=$work/code/$path:; done < <(tr : '\n' <<<"$5")
  read -ra flags <<<"$7"
  read -ra program <<<"$8"
  program=("${program[@]/\{checkout\}/$work/code}")
  program=("${program[@]/\{studies\}/$studies}")
  printf 'torch %s, %s\n' "$1" "$2" >&2
  rm -f "$work/code/$6"
  (cd "$work/code/$4" && PYTHONPATH=$paths$packages PYTHONDONTWRITEBYTECODE=1 TRITON_CACHE_DIR=$work/triton \
    TORCHINDUCTOR_CACHE_DIR=$work/inductor "$headroom" dryrun "${flags[@]}" -- "$python" "${program[@]}" >"$work/out" 2>"$work/err") ||
    { tail -n 5 "$work/err" >&2 && return 3; }
  [[ ! -f $work/code/$6 ]] || cat "$work/code/$6" >>"$work/out"
  python3 -IS "$studies/tables.py" read "$published" "$2" "$1" "$work/out" >"$work/new"
  merge_rows "$rows" "$work/new" program torch
}

status=0
touch "$rows"
for checkout in "${checkouts[@]}"; do
  while IFS=$'\t' read -r name commit torch packages folder paths written flags words; do
    [[ $name =~ ${NAMES:-.} ]] || continue
    rm -rf "$work/code"
    pretend_installed "$work/code" cs336-systems
    git -C "$checkout" archive "$commit" '*.py' '*.md' 2>/dev/null | tar -x -C "$work/code"
    git -C "$checkout" ls-tree -rd --name-only "$commit" | (cd "$work/code" && xargs -d '\n' mkdir -p)
    for version in $(printf '%s\n' "$torch" 2.11.0 | sort -u); do
      [[ ! $version =~ ${TORCH:-.} ]] ||
        run_under "$version" "$name" "$packages" "$folder" "$paths" "$written" "$flags" "$words" </dev/null || status=$?
    done
  done < <(python3 -IS "$studies/tables.py" programs "$published" "$checkout")
done
python3 -IS "$studies/tables.py" table "$published" "$rows" | into printed_tables.md
cat "$output_dir/printed_tables.md"
exit "$status"
