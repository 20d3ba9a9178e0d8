#!/usr/bin/env bash
# Runs the programs of public training runs of modded-nanogpt and of nanochat on virtual cards, each under the torch of its day, and
# prints the peaks that they printed beside ours.
#   compare.sh [--output-dir DIR] CHECKOUT...   CHECKOUTs are of github.com/KellerJordan/modded-nanogpt and of
#                                               github.com/karpathy/nanochat, with its history; DIR (default results/virtual) gets
#                                               nanogpt.jsonl and nanogpt.md; runs that nanogpt.jsonl has are not made again
# Rank 0 of the eight runs, alone. Versions of torch are installed into build/wheels (4 to 7 GB each). A program takes 3 to 9
# minutes, most of it torch.compile. Exit codes: 0 they ran, 2 usage, 3 one failed, 5 headroom or the packages are not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
# shellcheck source-path=SCRIPTDIR source=../../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
# shellcheck source-path=SCRIPTDIR source=../../../scripts/lib/torch_environment.sh
source scripts/lib/torch_environment.sh
output_dir=results/virtual
published=results/published/nanogpt_logs.json
table=studies/printed_tables/nanogpt/logs.py
read_checkouts "$@"
need_headroom
headroom=$(realpath "$headroom")
ours=$output_dir/nanogpt.jsonl
touch "$ours"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# prepare RUN COMMIT: sets words to the arguments of Python, from the checkout that has the run. Its losses are zeros, so the number
# of bytes by which nanochat divides one is given. False if no checkout has it.
prepare() {
  local checkout
  for checkout in "${checkouts[@]}"; do
    if [[ $2 == - && -f $checkout/records/$1 ]]; then
      python3 -IS "$table" program "$checkout/records/$1" >"$work/train.py"
      flags=()
      words=(train.py)
      return
    fi
    if [[ $2 != - ]] && git -C "$checkout" cat-file -e "$2:scripts/base_train.py" 2>/dev/null; then
      mkdir -p "$work/nanochat"
      git -C "$checkout" archive "$2" | tar -x -C "$work/nanochat"
      flags=(--value nanochat/loss_eval.py:60=1 --value nanochat/loss_eval.py:61=1)
      words=("$PWD/studies/printed_tables/nanogpt/nanochat_training.py" "$work/nanochat" --num_iterations=20)
      return
    fi
  done
  return 1
}

python3 -IS "$table" tokens "$work"
status=0
python3 -IS "$table" missing "$published" "$ours" >"$work/missing"
while read -r run torch commit; do
  prepare "$run" "$commit" || continue
  python=$(torch_python "$torch") || exit 5
  printf '%s\n' "$run" >&2
  if (cd "$work" && TORCHINDUCTOR_CACHE_DIR=$work/inductor "$headroom" dryrun --card h100-80gb --world-size 8 --rank 0 "${flags[@]}" -- \
    "$python" "${words[@]}") >"$work/printed" 2>"$work/errors" </dev/null; then
    python3 -IS "$table" ours "$run" "$work/printed" >>"$ours"
  else
    tail -n 20 "$work/errors" >&2
    status=3
  fi
  rm -rf "$work/inductor" "$work/logs" "$work/nanochat"
done <"$work/missing"
python3 -IS "$table" show "$published" "$ours" | into nanogpt.md
cat "$output_dir/nanogpt.md"
exit "$status"
