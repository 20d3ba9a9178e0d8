#!/usr/bin/env bash
# Runs the benchmark scripts of Liger-Kernel's repository, each at the commit that added its rows to their table, on a virtual
# card, with the torch of that day and with headroom's own, and prints how many figures of memory are equal to the byte.
#   compare.sh [--output-dir DIR] CHECKOUT   CHECKOUT: a git directory of the repository that
#                                            results/published/liger_kernels.json names, with its history;
#                                            DIR (default results/virtual) gets liger_kernels.jsonl and .md
# ROWS: only the runs whose name matches this expression, TORCH: only under versions that match this one; others of the .jsonl
# stay. torch is installed into build/wheels, transformers into build/stacks.
# Exit codes: 0 they ran, 2 usage, 3 a script failed, 5 headroom is not built, or a package cannot be installed.
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
published=$PWD/results/published/liger_kernels.json
checkout=$(realpath "$file")
git -C "$checkout" cat-file -e b5672a15:benchmark/scripts/utils.py 2>/dev/null ||
  { printf "'%s' has not the history of Liger-Kernel's repository\n" "$file" >&2 && exit 2; }
headroom=$(realpath "$headroom")
studies=$PWD/studies/liger
rows=$(realpath -m "$output_dir/liger_kernels.jsonl")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# packages_of TRANSFORMERS PYTHON: prints a folder with that version and the packages that it needs beside torch.
packages_of() {
  local folder=$PWD/build/stacks/transformers-$1 tokenizers='>=0.21,<0.22'
  [[ $1 != 4.4* ]] || tokenizers='>=0.20,<0.21'
  if [[ ! -e $folder/complete ]]; then
    rm -rf "$folder"
    "$2" -m pip install -q --no-compile --target "$folder" --no-deps "transformers==$1" "tokenizers$tokenizers" safetensors \
      "huggingface_hub<1" regex requests pyyaml tqdm packaging urllib3 idna certifi charset_normalizer pytest pluggy iniconfig \
      filelock fsspec typing_extensions >&2 || return 5
    touch "$folder/complete"
  fi
  printf '%s\n' "$folder"
}

# folder_of NAME COMMIT: prints a folder with the repository's code at that commit and the run.
folder_of() {
  local folder=$work/runs/${1//[ ,]/_}
  pretend_installed "$folder" liger-kernel
  # The scripts import classes of tests. Data of tests are not in every copy of the repository.
  git -C "$checkout" archive "$2" src benchmark/scripts ':(glob)test/**/*.py' 2>/dev/null | tar -x -C "$folder"
  python3 -IS "$studies/tables.py" run "$published" "$1" >"$folder/run.json"
  printf '%s\n' "$folder"
}

run_under() { # TORCH CARD TRANSFORMERS VALUES FOLDER...
  local python packages flags=() status=0
  python=$(torch_python "$1") || exit 5
  packages=$(packages_of "$3" "$python") || exit 5
  printf 'torch %s, %s: %s runs\n' "$1" "$2" $(($# - 4)) >&2
  [[ $4 == none ]] || read -ra flags <<<"--value ${4//,/ --value }"
  PYTHONPATH=$packages PYTHONDONTWRITEBYTECODE=1 TRITON_CACHE_DIR=$work/triton \
    "$headroom" dryrun --card "$2" "${flags[@]}" -- "$python" "$studies/kernel_memory.py" "${@:5}" >"$work/log" 2>&1 || status=3
  [[ $status -eq 0 ]] || grep -E 'Error|error' "$work/log" | tail -n 5 >&2
  python3 -IS "$studies/tables.py" read "$published" "$1" "$work/log" >"$work/new"
  merge_rows "$rows" "$work/new" run torch
  return "$status"
}

status=0
touch "$rows"
declare -A folders=()
while IFS=$'\t' read -r name commit card torch transformers values; do
  [[ $name =~ ${ROWS:-.} ]] || continue
  folder=$(folder_of "$name" "$commit")
  for version in $(printf '%s\n' "$torch" 2.11.0 | sort -u); do
    [[ ! $version =~ ${TORCH:-.} ]] || folders["$version $card $transformers $values"]+=" $folder"
  done
done < <(python3 -IS "$studies/tables.py" runs "$published")
while read -r group; do
  read -ra words <<<"$group ${folders[$group]}"
  run_under "${words[@]}" </dev/null || status=$?
done < <(printf '%s\n' "${!folders[@]}" | sort)
python3 -IS "$studies/tables.py" table "$published" "$rows" | into liger_kernels.md
cat "$output_dir/liger_kernels.md"
exit "$status"
