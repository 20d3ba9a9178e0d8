#!/usr/bin/env bash
# Runs the commands that the README and docs/ show, on virtual cards, and keeps what they print.
#   readme_outputs.sh [--output-dir DIR]      DIR defaults to results/readme
# A file begins with its command as it was run. Of a long report only some tables are kept; "..." stands where
# one of them is cut, "pid" for a process number. scripts/upkeep/update_docs.sh puts the files into the documents. step.svg is drawn from the same step.
# README_OUTPUTS=few leaves out what takes longest: searches for several GPUs, part of `headroom dryrun`, and the commands of ./recipes/install.sh.
# Exit codes: 0 all are written, 2 usage, 3 a command failed, 5 headroom is not built, or there is no Python
# with torch (then the files of `headroom dryrun` are left as they were and the rest is written).
# shellcheck disable=SC2317 # filters are called by show()
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/readme
unset -v file # takes none
read_options "$@"
need_headroom
output_dir=$(realpath "$output_dir")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$PWD/tests" "$scratch/tests" # programs for dryrun
PATH=$(realpath "$(dirname "$headroom")"):$PWD/.venv/bin:$PATH
top=$PWD
cd "$scratch"
status=0
declare -A printed=()

# show NAME EXIT_CODE COMMAND [FILTER...]: the command and what it printed, through FILTER. A command that
# several files show runs once.
show() {
  local name=$1 expected=$2 command=$3 code=0
  shift 3
  if [[ ! -v printed[$command] ]]; then
    bash -c "$command" >whole.txt 2>talk.txt || code=$?  # a file: a pipe folds tables
    if [[ $code -ne $expected ]]; then
      printf 'readme_outputs.sh: exit %d: %s\n' "$code" "$command" >&2
      tail -n 3 talk.txt >&2
      status=3
      return
    fi
    printed[$command]=$(<whole.txt)
    # dryrun's report is on stderr: stdout is the program's.
    [[ $command != 'headroom dryrun'* ]] || printed[$command]+=$'\n'$(<talk.txt)
  fi
  { printf '$ %s\n' "$command" && "${@:-cat}" <<<"${printed[$command]}"; } | sed 's/ *$//' | into "$name"
}

# parts TITLES: the tables whose titles match, of a report with an empty line between tables.
parts() {
  awk -v wanted="^($1)" 'BEGIN { RS = "" } $0 ~ wanted { if (count++) print ""; print }'
}
# lines COUNT: the first ones.
lines() { awk -v count="$1" 'NR <= count { print } NR == count + 1 { print "..." }'; }
first_table() { awk 'BEGIN { RS = "" } NR == 1' | lines "$1"; }
# Prints the first lines of each table, and at most three of those that begin with the same words.
first_parts() {
  awk -v count="$1" 'BEGIN { RS = ""; FS = "\n" } {
    if (NR > 1) print ""
    for (i = shown = 1; i <= NF; i++) {
      split($i, words, "  ")
      if (++alike[NR, words[1]] <= 3 && shown++ <= count) print $i
      else if (last != NR i - 1) print "..."
      if (alike[NR, words[1]] > 3 || shown > count) last = NR i
    }
  }'
}
setups() { parts Recommended | sed 's/^.*set-ups tried.*/.../'; }
# The answers, and the command of the first.
meshes() { sed -nE -e '1,5p' -e 's/^1  (headroom profile)/\n\1/p'; }
# The report alone, without its seconds and process numbers.
peaks() {
  sed -nE -e 's/^ *[0-9]+( +[0-9]+ +[0-9.]+ [KMG]iB)/    pid\1/' -e '/^Peaks on/,$p'
}

profile='headroom profile --model-size 2.7B --profile-type training --device virtual:h200 --snapshot step.pickle'
first='headroom profile --model-size 2.7B --context-length 512 --profile-type forward --device virtual:h200'
show profile.txt 0 "$first" parts 'Peak per phase'
show profile_in_full.txt 0 "$profile" parts 'Peak per phase|Live memory|Kept for|Theory beside'
show snapshot_top.txt 0 "headroom snapshot top step.pickle | sed -n '/each/p; / block /,+2p' | head -n 4"
show sweep.txt 3 "headroom sweep --model-size small,medium,large,xl --profile-type training --device virtual:rtx4090 --records runs.jsonl" lines 7
show table.txt 0 'headroom table peak-memory runs.jsonl --format csv | cut -d , -f 1-4'
show theory.txt 0 "headroom theory --model-size 2.7B >rows.txt && grep -E 'BHST|gate|q_BHSK' rows.txt | cut -c 1-109"
show rlhf.txt 0 'headroom rlhf --model-size 7b --num-gpus 8 --card a100-80gb' setups
show budget.txt 0 'headroom budget --card h100-80gb --model-size 7b --gpu-memory-utilization 0.4' first_table 5
show fit_7b_16gib.txt 0 'headroom fit --card rtx4090 --bytes 16GiB --config llama-2-7b --context-length 512 --batch-size 1 --attention sdpa --answers 1' meshes
few=${README_OUTPUTS:-}
if [[ $few != few ]]; then
  show fit_meshes.txt 0 'headroom fit --card h100-80gb --gpus 8 --model-size 7b --context-length 2048 --batch-size 4 --param-dtype bf16 --master-weights fp32 --attention sdpa --answers 2' meshes
  show fit_32b.txt 0 'headroom fit --card rtx4090 --gpus 4 --model-size custom --d-model 5120 --d-ff 27648 --layers 64 --heads 40 --kv-heads 8 --vocab-size 152064 --context-length 512 --batch-size 1 --attention sdpa --answers 1' meshes
fi
show cards.txt 0 'headroom cards h200 rtx4090 | head -n 5'
show bench.txt 0 'headroom_bench --model-size medium --context-length 128,512 --benchmark_filter=training/bf16 --benchmark_list_tests'

# The files that docs/programs/compare.md compares.
one_cell='headroom profile --model-size small --profile-type training --device virtual:h200'
$one_cell --snapshot fp32.pickle --format json >fp32.jsonl
$one_cell --precision bf16 --snapshot bf16.pickle --format json >bf16.jsonl
show compare_records.txt 0 'headroom compare fp32.jsonl bf16.jsonl' first_parts 30
show compare_gate.txt 1 'headroom compare bf16.jsonl fp32.jsonl --fail-on memory 2>&1 >report.txt'

headroom plot step.pickle --output drawn.svg 2>talk.txt && into step.svg <drawn.svg

if python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then
  show dryrun.txt 0 'headroom dryrun --card rtx4090 -- python tests/virtual_gpu/programs/train_transformer.py' peaks
  if [[ $few != few ]]; then
    show dryrun_oom.txt 0 'headroom dryrun --card rtx4090 --bytes 12GiB -- python tests/virtual_gpu/programs/out_of_memory.py caught' peaks
    for batch in 2 3; do
      headroom dryrun --card rtx4090 --snapshot "batch$batch.pickle" -- \
        python tests/virtual_gpu/programs/train_batches.py --batch-size "$batch" >whole.txt 2>talk.txt
    done
    show dryrun_compare.txt 0 'headroom compare batch2.pickle batch3.pickle'
  fi
  show dryrun_breakdown.txt 0 'headroom dryrun --card rtx4090 --breakdown -- python tests/virtual_gpu/programs/broken_down.py accumulated' parts 'Memory of|By module|By step'
else
  printf 'readme_outputs.sh: no Python with torch: dryrun*.txt are left as they were\n' >&2
  [[ $status -ne 0 ]] || status=5
fi
# Only if ./recipes/install.sh was run.
if [[ $few != few && -x $top/build/stacks/serve/bin/python ]]; then
  show serve.txt 0 'headroom serve --config llama-3.1-8b --card h100-80gb --max-len 8192 --eager'
fi
if [[ $few != few && -x $top/build/stacks/sglang/bin/python ]]; then
  show serve_sglang.txt 0 'headroom serve --engine sglang --config llama-3.1-8b --card h100-80gb --max-len 8192 --eager'
fi
if [[ $few != few && -x $top/build/stacks/finetune/bin/python ]]; then
  show finetune.txt 4 'headroom finetune --config llama-3.1-8b --card rtx4090' sed "s|$top/||g"
fi
exit "$status"
