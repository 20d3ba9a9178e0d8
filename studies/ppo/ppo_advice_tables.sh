#!/usr/bin/env bash
# Prints, from iterations of PPO on a virtual card, what docs/setup/troubleshooting.md says each advice is
# worth (training.md, rollout.md, host.md), and the phases of an iteration without and with offload
# as boxes (timeline.md).
#   ppo_advice_tables.sh [--output-dir DIR]      DIR defaults to results/ppo/advice
# About 25 runs of a 7b model.
# Exit codes: 0 all is written, 2 usage, 3 a run failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/ppo/advice
unset -v file # takes none
read_options "$@"
need_headroom

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for section in training rollout host; do
  python3 -S studies/ppo/troubleshooting_table.py "$headroom" "$section" "$scratch" >"$scratch/table" || exit 3
  into "$section.md" <"$scratch/table"
done

# Without offload it needs more than the card has; it is measured with as much as it wants.
iteration="--model-size 7b --reward-size 7b --param-dtype bf16 --attention sdpa --recompute every:1 --prompt-len 512 --response-len 128 --batch-size 8"
offload="--master-weights fp32 --optimizer-offload cpu --swap-phases --max-tokens-per-micro-batch 2560"
# shellcheck disable=SC2086 # they are words
{
  "$headroom" ppo $iteration --device virtual:h100-80gb,bytes=400GB --stacks none --format json >"$scratch/without.json" || exit 3
  "$headroom" ppo $iteration $offload --device virtual:h100-80gb --stacks none --format json >"$scratch/with.json" || exit 3
}
python3 -I studies/ppo/ppo_timeline.py "$scratch/without.json" "$scratch/with.json" "$iteration" "$offload" |
  into timeline.md
