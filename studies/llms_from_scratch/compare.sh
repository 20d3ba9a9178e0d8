#!/usr/bin/env bash
# Runs the programs of a book's repository on a virtual card, with the torch that they ran with, and prints the memory that its
# documents print beside ours.
#   compare.sh [--output-dir DIR] CHECKOUT   CHECKOUT: of the repository that results/published/llms_from_scratch.json names;
#                                            DIR (default results/virtual) gets llms_from_scratch.jsonl and .md
# ROWS: only the rows whose name matches this expression; others of the .jsonl stay. torch is installed into build/wheels.
# Exit codes: 0 they ran, 2 usage, 3 a program failed, 5 headroom is not built, or torch cannot be installed.
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
published=$PWD/results/published/llms_from_scratch.json
programs=$PWD/studies/llms_from_scratch/programs.py
[[ -r $file/ch05/10_llm-training-speed/00_orig.py ]] ||
  { printf "'%s' is no checkout of that repository: ch05/10_llm-training-speed/00_orig.py is missing\n" "$file" >&2 && exit 2; }
checkout=$(realpath "$file")
headroom=$(realpath "$headroom")
rows=$(realpath -m "$output_dir/llms_from_scratch.jsonl")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_row() { # NAME TORCH FILE ARGUMENTS...
  local name=$1 torch=$2 program=$3 python folder=$work/run
  python=$(torch_python "$torch") || exit 5
  PYTHONPATH=$work/packages "$python" -c 'import matplotlib, requests' 2>"$work/err" ||
    "$python" -m pip install -q --target "$work/packages" --no-deps matplotlib requests contourpy cycler fonttools kiwisolver \
      packaging pillow pyparsing python-dateutil six certifi charset_normalizer idna urllib3 >&2 || return 5
  rm -rf "$folder" && mkdir "$folder"
  python3 -IS "$programs" write "$checkout" "$published" "$name" "$folder"
  printf '%s\n' "$name" >&2
  if ! (cd "$folder" && PYTHONPATH="$folder:$work/packages" "$headroom" dryrun --card a100-40gb --skip-host-init -- "$python" \
    "${program##*/}" "${@:4}" >"$work/log" 2>&1); then
    tail -n 5 "$work/log" >&2
    exit 3
  fi
  python3 -IS "$programs" read "$published" "$name" "$work/log" "$torch" >"$work/row"
  merge_rows "$rows" "$work/row" name
}

touch "$rows"
while IFS=$'\t' read -r name torch program arguments; do
  [[ $name =~ ${ROWS:-.} ]] || continue
  read -ra words <<<"$arguments"
  run_row "$name" "$torch" "$program" "${words[@]}" </dev/null
done < <(python3 -IS -c 'import json, sys
for row in json.load(open(sys.argv[1]))["rows"]:
    print(row["name"], row["torch"], row["file"], row.get("arguments", ""), sep="\t")' "$published")
python3 -IS "$programs" table "$published" "$rows" | into llms_from_scratch.md
cat "$output_dir/llms_from_scratch.md"
