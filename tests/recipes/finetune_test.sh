#!/usr/bin/env bash
# headroom finetune: what it refuses, and its answers with a stand-in for the Python packages, whose memory is known.
# Usage: finetune_test.sh HEADROOM PYTHON; without HEADROOM_LONG fewer answers, each of which imports torch.
set -uo pipefail

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
source "$here/../support/expect.sh"
python=$(realpath -s "$2")

begin "$1"
ask=(finetune --card rtx4090 --config)

# The program refuses a wrong command line.
expect 2 '--config is needed' finetune --card rtx4090
expect 2 '--card is needed' finetune --config gpt2
expect 2 "--config: 'llama-3.1-8' is unknown; .*did you mean llama-3.1-8b" "${ask[@]}" llama-3.1-8
expect 2 'is neither a known name nor a .json file' "${ask[@]}" meta-llama/Llama-3.1-8B
expect 2 "--config: 'none.json' does not exist" "${ask[@]}" none.json
echo '[1' >torn.json
expect 2 "--config: 'torn.json' is no JSON object" "${ask[@]}" torn.json
echo '{"model_type": "llama", "vocab_size": 9, "num_hidden_layers": 1, "num_attention_heads": 1}' >part.json
expect 2 "--config: 'part.json' has no field 'hidden_size'" "${ask[@]}" part.json
expect 2 '--method: .*full, lora, qlora' "${ask[@]}" gpt2 --method dora
expect 2 '--rank: .* --method full trains all weights' "${ask[@]}" gpt2 --method full --rank 8
expect 2 '--length: .* longer than the model.s positions; allowed: 1 to 1024' "${ask[@]}" gpt2 --length 1025
expect 2 '--batch.*allowed: 1 to 4096' "${ask[@]}" gpt2 --batch 0
expect 2 '--zero: .* shards no weights of --method qlora' "${ask[@]}" gpt2 --length 64 --gpus 2 --method qlora --zero 3
expect 2 '--zero: .2. shards over several cards' "${ask[@]}" gpt2 --length 64 --zero 2
expect 2 '--zero: .*2, 3' "${ask[@]}" gpt2 --length 64 --gpus 2 --zero 1
expect 2 '--stack: .accelerate. is a plain loop, which packs nothing' "${ask[@]}" gpt2 --length 64 --packing --stack accelerate
expect 2 '--stack: .torchtune. has no --liger; .*allowed with it: trainer, trl, accelerate' "${ask[@]}" gpt2 --length 64 --liger --stack torchtune
expect 2 '--stack: .torchtune. has no --zero' "${ask[@]}" gpt2 --length 64 --gpus 2 --zero 2 --stack torchtune
HEADROOM_TORCHTUNE_PYTHON='' expect 5 'finetune --stack torchtune are not installed: run ./recipes/install.sh torchtune|cannot write' \
  "${ask[@]}" gpt2 --length 64 --stack torchtune --output /nosuch/f
expect 2 '--route: .other. is none of balanced, worst' "${ask[@]}" gpt2 --length 64 --route other
expect 2 '--largest: .*batch, length' "${ask[@]}" gpt2 --length 64 --largest width
HEADROOM_FINETUNE_PYTHON='' expect 5 'run ./recipes/install.sh|cannot write' "${ask[@]}" gpt2 --length 64 --output /nosuch/f

# The answers.
quick=$here/../virtual_gpu/programs/processes/quick_end.py
printf '#!/bin/sh\nexec %q %q %q "$@"\n' "$python" "$quick" "$here/stand_in_stack.py" >stack
chmod +x stack
export HEADROOM_FINETUNE_PYTHON=$PWD/stack
gpt2=("${ask[@]}" gpt2 --bytes 2GiB --length 100)

expect 0 '' "${gpt2[@]}" --output breakdown.json
grep -q 'gpt2 (124,439,808 parameters), lora of rank 16, 1 x 100 tokens' out || fail "no title: $(<out)"
grep -q 'fits on rtx4090: 164.000 MiB reserved' out || fail "another answer: $(<out)"
grep -q 'trainer_recipe.py --config .*gpt2.json --method lora --batch 1 --length 100$' out || fail "no command: $(<out)"
grep -q '"categories"' breakdown.json || fail "no breakdown: $(<breakdown.json)"

expect 0 '' "${gpt2[@]}" --gpus 4 --method full
grep -q 'fits on 4 x rtx4090: 356.000 MiB reserved' out || fail "several cards: $(<out)"
grep -qE 'stack -m torch.distributed.run --nproc-per-node 4 .*--length 100 --fsdp$' out || fail "no launcher: $(<out)"

HEADROOM_TORCHTUNE_PYTHON=$PWD/stack expect 0 '' "${gpt2[@]}" --gpus 2 --method qlora --stack torchtune
grep -qE 'stack -m torch.distributed.run --nproc-per-node 2 .*torchtune_recipe.py .* --method qlora .* --fsdp$' out || fail "torchtune: $(<out)"

# A router's eight tokens get the first two experts.
expect 0 '' "${gpt2[@]}" --targets routed --route worst
grep -q 'fits on rtx4090: 366.000 MiB reserved' out || fail "worst: $(<out)"

# 800 MiB less the context of 384 MiB: 3 x 100 MiB and the weights.
expect 0 'batch 3: fits, 364.000 MiB' "${ask[@]}" gpt2 --bytes 800MiB --length 100 --largest batch
grep -q 'largest batch: 3 .*; 4 does not fit: out of memory, 100.000 MiB wanted' out || fail "batch: $(<out)"

expect 4 'with --checkpointing: fits' "${gpt2[@]}" --batch 20
grep -q 'does not fit on rtx4090: out of memory, 100.000 MiB wanted' out || fail "fits: $(<out)"
grep -q 'fits with --checkpointing: 584.000 MiB reserved' out || fail "no change: $(<out)"
expect 4 '' "${ask[@]}" gpt2 --length 100 --method qlora --checkpointing --bytes 450MiB
grep -q 'none of the changes that were tried makes it fit' out || fail "fits: $(<out)"

HEADROOM_FINETUNE_PYTHON=true expect 4 'the training failed, .*: it used no card;' "${gpt2[@]}"

echo '{"model_type": "x", "vocab_size": 9, "hidden_size": 1, "num_hidden_layers": 1, "num_attention_heads": 1}' >broken.json
expect 4 'not for lack of card memory: exit code 1: ValueError: no such architecture; .*headroom dryrun' \
  "${ask[@]}" broken.json

if [[ -n ${HEADROOM_LONG:-} ]]; then
  expect 0 '' "${gpt2[@]}" --gpus 2 --zero 3 --liger --packing --optimizer muon
  grep -qE -- '--packing --optimizer muon --liger --zero 3$' out || fail "other flags: $(<out)"
  expect 0 '' "${gpt2[@]}" --targets routed --route balanced
  grep -q 'fits on rtx4090: 266.000 MiB reserved' out || fail "balanced: $(<out)"
  expect 0 '' "${gpt2[@]}" --largest length
  grep -qE 'largest length: 1,024 ' out || fail "not all positions of the model: $(<out)"
  expect 4 'with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True --checkpointing --batch 1: fits' \
    "${ask[@]}" gpt2 --length 100 --batch 20 --bytes 512MiB
  grep -q 'fits with PYTORCH.* --batch 1: 100.000 MiB reserved' out || fail "no changes: $(<out)"
fi

finish
