#!/usr/bin/env bash
# Requests that headroom ppo refuses: one line with flag, value, allowed and an example, exit 2,
# before anything runs.
# Usage: ppo_input_test.sh HEADROOM STUB_CELL
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

begin "$1" "$2"

# refused PATTERN FLAGS...: and what of a small set-up they do not say.
refused() {
  local pattern=$1 words flag
  shift
  words=("$@")
  for flag in '--model-size small' '--prompt-len 32' '--response-len 32' '--batch-size 4' '--device virtual:h200'; do
    # shellcheck disable=SC2206  # a flag and its value are two words
    [[ " $* " == *" ${flag% *} "* ]] || words+=($flag)
  done
  expect 2 "$pattern.*\(example: .*\)$" ppo "${words[@]}"
}

# Sequences, budgets and caches.
refused "--response-len: '33' after a prompt of 32 is beyond --context-length 64; allowed: 1 to 32" \
  --context-length 64 --response-len 33
refused "--response-len: '4000' after a prompt of 1000 is beyond the context of 7b; allowed: 4096 tokens together" \
  --model-size 7b --prompt-len 1000 --response-len 4000
refused "--max-tokens-per-micro-batch: '63' is below a sequence of 64 tokens; allowed: 0, or 64 and more" \
  --max-tokens-per-micro-batch 63
refused "--kv-cache-tokens: '63' is too small for one sequence of 64 tokens; allowed: 0, or 64 or more" --kv-cache-tokens 63
refused "--kv-cache-tokens: '63' is too small for one sequence of 64 tokens; allowed: 0, or 64 or more" \
  --kv-cache-tokens 63 --kv-cache paged

# The share of the card that generation may fill.
for share in 0 -0.1 1.01 nan 0.5x ''; do
  refused "--gpu-memory-utilization: '$share' is (not a share|out of range|not a number)" --gpu-memory-utilization "$share"
done
refused "--gpu-memory-utilization: '0.01' is [0-9.]* GiB for 14.016 GiB of weights, .* of context and .* of cache for one sequence; allowed: 0\.[0-9]* to 1" \
  --model-size 7b --param-dtype bf16 --gpu-memory-utilization 0.01
refused "--gpu-memory-utilization: '0.4' conflicts with --kv-cache-tokens, the same size in tokens; allowed: one of them" \
  --gpu-memory-utilization 0.4 --kv-cache-tokens 4096
refused "--gpu-memory-utilization: '0.4' needs a card, and --device cpu is none" --gpu-memory-utilization 0.4 --device cpu

# Models that the card cannot hold.
refused "--critic-size: '70b' gives the critic 12[0-9.]* GiB of weights, and the card has room for 23[0-9.]* GiB; allowed: a smaller one, or --critic-param-offload cpu" \
  --model-size 7b --param-dtype bf16 --critic-size 70b --device virtual:rtx4090
refused "--reward-size: '70b' gives the reward 12" --model-size 7b --param-dtype bf16 --reward-size 70b --device virtual:rtx4090
refused "--model-size: '7b' gives the actor 28.* GiB of weights, and the card has room for 23" \
  --model-size 7b --device virtual:rtx4090
refused "--critic-size: '7b' has a vocabulary of 128000, the actor's has 10000" --critic-size 7b
refused "--reward-size: 'smal' is unknown; allowed: .*did you mean small\?" --reward-size smal

# Sampling and numbers.
refused "--top-p: '0' (is out of range|leaves no token)" --top-p 0
refused "--temperature: '0' is not in \(0, infinity\)" --temperature 0
refused "--group-size: '3' does not divide --batch-size 4" --group-size 3
refused "--algorithm: 'pop' is unknown" --algorithm pop
refused "--clip: '1' is not in \(0, 1\)" --clip 1
refused "--minibatches: '5' is more than the 4 sequences" --minibatches 5

# Roles: the flag is named as it was typed.
refused "--reference: 'disk' names no directory" --reference disk
refused "--reference: 'dsk' is unknown; allowed: resident, offload, none, disk:DIR" --reference dsk
refused "--actor-recompute: 'ful' is unknown" --actor-recompute ful
refused "--actor-param-offload: 'cpu' leaves no weights on the device" --actor-param-offload cpu
refused "--critic-optimizer-offload: 'cpu' updates with AdamW on the host, and --critic-optimizer is lion" \
  --critic-optimizer lion --critic-optimizer-offload cpu
refused "--reward-param-offload: 'cpu' applies to a reward model, and --reward-size none is a rule" --reward-param-offload cpu
refused "--critic-recompute: 'full' applies to a critic model, and --algorithm grpo has none" \
  --algorithm grpo --group-size 2 --critic-recompute full
refused "--optimizer-offload: 'nvme:.*' would contain the states of actor and critic; allowed: a directory for each" \
  --optimizer-offload "nvme:$PWD"
refused "--release-gradients: 'true' updates in the backward of each micro-batch" \
  --release-gradients --max-grad-norm 0 --max-tokens-per-micro-batch 64
expect 5 'no/such' ppo --model-size small --device virtual:h200 --reference disk:no/such

# A set-up file.
echo '{"model_size": "small", "swap_phase": true}' >setup.json
refused "--setup: 'setup.json' has the key 'swap_phase', which is no setting" --setup setup.json
echo '{"model_size": "small", "top_p": 0}' >setup.json
refused "--top-p: '0'" --setup setup.json
echo '{"model_size": "small", "seed": 1, "seed": 2}' >setup.json
refused "--setup: 'setup.json' has the key 'seed' twice" --setup setup.json
echo '["small"]' >setup.json
refused "--setup: 'setup.json' is no JSON object; allowed" --setup setup.json
head -c 100 /dev/zero >setup.json
refused "--setup: 'setup.json' is no JSON object; allowed" --setup setup.json
expect 5 'cannot read missing.json: No such file' ppo --model-size small --setup missing.json

finish
