#!/usr/bin/env bash
# Runs test cases of Megatron-LM, its own pretrain_gpt.py with their own flags, as the last of 8 ranks on a virtual card,
# and prints what their golden files and our runs say of memory.
#   compare_distributed.sh [--output-dir DIR] CHECKOUT   CHECKOUT: of NVIDIA/Megatron-LM at the version that
#                                                        results/published/megatron_golden.json names, with its data
#                                                        set helper built (make -C megatron/core/datasets);
#                                                        DIR (default results/virtual) gets megatron_golden.json, .md
# Pipelines have two runs, with --events done and late. EVENTS (default both) may hold one of these words.
# CASES (default: all that are published there) may hold some of them; of the others what DIR has stays. REPEATS (default
# 1): how often each is run; several runs differ by whole MiB where stages send to each other.
# PYTHON (default .venv/bin/python) has torch and what the program imports: tensorboard pydantic einops pyyaml packaging
# psutil regex tqdm requests.
# Exit codes: 0 they ran, 2 usage, 3 some failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
# shellcheck source-path=SCRIPTDIR source=../programs/distributed_short.sh
source studies/programs/distributed_short.sh
output_dir=results/virtual
file=${*: -1}
read_options "$@"
need_headroom
published=results/published/megatron_golden.json
[[ -r $file/pretrain_gpt.py ]] || { printf "'%s' is no checkout of Megatron-LM: pretrain_gpt.py is missing\n" "$file" >&2 && exit 2; }
[[ -n $(compgen -G "$file/megatron/core/datasets/helpers_cpp*.so") ]] ||
  { printf "its helper is not built: make -C %s/megatron/core/datasets\n" "$file" >&2 && exit 2; }
checkout=$(realpath "$file")
output_dir=$(realpath "$output_dir")
python=$(realpath -s "${PYTHON:-.venv/bin/python}")
headroom=$(realpath "$headroom")
lib=$PWD/studies/megatron
case_of() { python3 -IS "$lib/megatron_case.py" "$1" "$checkout" "${@:2}"; }
# Case and card of every golden file that there is.
runs() {
  python3 -IS -c 'import json, os, sys
sys.path.insert(0, sys.argv[2])
from distributed_table import is_of
wanted = os.environ.get("CASES", "").split()
for case in json.load(open(sys.argv[1]))["cases"]:
    for card in ("a100-80gb", "h100-80gb"):
        if any(is_of(file["environment"], card) for file in case["files"]) and (not wanted or case["case"] in wanted):
            print(case["case"], card)' "$published" "$lib"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run_case CASE CARD EVENTS: one line of JSON.
run_case() {
  local folder=$work/${1//\//.}.$2 settings arguments words paths=$checkout apex=none
  mkdir "$folder"
  words=$(case_of words "$1")
  if [[ $words -gt 0 ]]; then
    "$python" "$lib/word_piece_data.py" "$checkout" "$folder" "$words" >"$folder/log" 2>&1 || return 3
  fi
  mapfile -t settings < <(case_of settings "$1")
  mapfile -t arguments < <(case_of arguments "$1" "$folder")
  if [[ " ${arguments[*]} " != *' --no-persist-layer-norm '* ]]; then
    apex='stood in for'
    paths+=:$lib/apex_stand_in
  fi
  if ! (cd "$checkout" && env "${settings[@]}" PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$paths${PYTHONPATH:+:$PYTHONPATH}" \
    "$headroom" dryrun --card "$2" --events "$3" --world-size 8 --rank "$(case_of ranks "$1")" --json "$folder/report" -- \
    "$python" "$(case_of program "$1")" "${arguments[@]}" >"$folder/log" 2>&1); then
    printf '%s on %s:\n' "$1" "$2" >&2
    grep -aE 'Error|error:' "$folder/log" | tail -n 3 >&2
    return 3
  fi
  "$python" "$lib/megatron_case.py" read "$folder/tensorboard-dir" >"$folder/figures" 2>"$folder/log" || return 3
  python3 -IS -c 'import json, sys
case, card, events, apex, figures, report = sys.argv[1:]
last = max(json.load(open(report))["processes"], key=lambda process: process["rank"])
traffic = [{"size": one["size"], "collectives": one["collectives"]} for one in last["communicators"]]
print(json.dumps({"case": case, "card": card, "events": events, "apex": apex, **json.load(open(figures)), "communicators": traffic}))' \
    "$1" "$2" "$3" "$apex" "$folder/figures" "$folder/report"
}

status=0
: >"$work/runs"
while read -r name card; do
  for events in $(case_of events "$name"); do
    [[ " ${EVENTS:-done late} " == *" $events "* ]] || continue
    printf '%s on %s, events %s\n' "$name" "$card" "$events" >&2
    for ((time = 0; time < ${REPEATS:-1}; ++time)); do
      run_case "$name" "$card" "$events" >>"$work/runs" || status=3
      rm -rf "${work:?}/${name//\//.}.$card"
    done
  done
done < <(runs)
versions="torch $("$python" -c 'from importlib.metadata import version; print(version("torch"))')"
python3 -IS -c 'import json, os, sys
path, before, command, versions = sys.argv[1:]
runs = [json.loads(line) for line in open(path)]
key = lambda run: (run["case"], run["card"], run.get("events", "done"))
done = {key(run) for run in runs}
kept = json.load(open(before))["runs"] if os.path.exists(before) else []
runs += [run for run in kept if key(run) not in done]
runs.sort(key=key)
print(json.dumps({"command": command, "versions": versions, "runs": runs}, indent=1))' \
  "$work/runs" "$output_dir/megatron_golden.json" \
  "headroom dryrun --card CARD --world-size 8 --rank LIST (of pipelines --events done and late) -- python PROGRAM, with the flags of the case" \
  "$versions" | into megatron_golden.json
python3 -IS "$lib/distributed_table.py" "$published" "$output_dir/megatron_golden.json" | into megatron_golden.md
write_distributed_short
cat "$output_dir/megatron_golden.md"
exit "$status"
