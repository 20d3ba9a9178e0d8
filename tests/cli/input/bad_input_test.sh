#!/usr/bin/env bash
# Bad input of the real program over a stub cell: exit codes, one line on stderr.
# Usage: bad_input_test.sh HEADROOM STUB_CELL
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

begin "$1" "$2"

small=(--model-size small)

# Cards, and the user's file of them.
expect 2 "card: 'h2000' is unknown; did you mean h200\?" cards h2000
echo '{"cards": [{"name": "h200", "total_bytes": "140GB"}]}' >cards.json
HEADROOM_CARDS=cards.json expect 2 "HEADROOM_CARDS: cards.json: card 'h200': total_bytes is \"140GB\"" cards
HEADROOM_CARDS=missing.json expect 2 'HEADROOM_CARDS: missing.json: cannot be read: No such file' cards

# Values.
expect 2 "'smal' is unknown.*did you mean small\?" profile --model-size smal
expect 2 '--model-size: is required; allowed: small' profile
expect 2 "--context-length: '0' is out of range" profile "${small[@]}" --context-length 0
expect 2 "--context-length: '512x' is not a whole number; allowed: 1 to .*example: " profile "${small[@]}" --context-length 512x
expect 2 "'1e3' is not a whole number" profile "${small[@]}" --context-length 1e3
expect 2 "'128,256' is a list" profile "${small[@]}" --context-length 128,256
expect 2 "'128,,256' has an empty element 2" sweep "${small[@]}" --context-length 128,,256
expect 2 "'128,' has an empty element 2|belongs to no flag" sweep "${small[@]}" --context-length 128, 256
expect 2 "empty element 1" sweep "${small[@]}" --context-length ''
for flag in load-checkpoint save-checkpoint alloc-conf; do
  expect 2 "--$flag: '' is empty; allowed: .*\(example: .*--$flag " profile "${small[@]}" "--$flag" ''
  expect 2 "--$flag: '' is empty; allowed: .*\(example: .*--$flag " sweep "${small[@]}" "--$flag="
done
expect 2 "--forbid: 'recompute' is in --allow too" fit "${small[@]}" --card h200 --allow checkpoint --forbid recompute
expect 2 '--heads: 7 does not divide' profile "${small[@]}" --heads 7
expect 2 "--head-dim: 7 is odd; rotary positions need an even one .*example: .*--head-dim 64" profile "${small[@]}" --head-dim 7
expect 2 "--mesh: .pp=2. has the token table on the first stage .*example: --mesh dp=2,tp=2 --tied-embeddings" profile "${small[@]}" --tied-embeddings --mesh pp=2
for layer in tied-embeddings qkv-bias qk-norm; do
  expect 2 "--$layer: .true. does not run with --kernels compiled" profile "${small[@]}" --profile-type training --device virtual:h200 --kernels compiled "--$layer"
done
expect 2 "--device: 'gpu' is unknown" profile "${small[@]}" --device gpu
expect 2 "--deadline: 'soon' is not a number" profile "${small[@]}" --deadline soon
expect 2 "--device: 'cuda:x' names no card; .*example: --device " profile "${small[@]}" --device cuda:x
expect 2 "--mesh dp: 'x' is not a whole number; .*example: --" profile "${small[@]}" --mesh dp=x
expect 2 "'12,13x' is a list.*example: --model-size small" profile --model-size 12,13x
expect 2 "--record-steps: '0' records nothing for --snapshot; allowed with it: 1 or more" profile "${small[@]}" --record-steps 0 --snapshot s.pickle
expect 2 "--attention: 'efficient' runs on cards only" profile "${small[@]}" --device cpu --attention efficient
expect 2 "--attention: 'flash' needs compute capability 8.0; the card's is 7.5" profile "${small[@]}" --device virtual:t4 --attention flash
expect 2 "--attention: 'cudnn' takes FP16 and BF16 only" profile "${small[@]}" --device virtual:h200 --attention cudnn
expect 2 "--alloc-conf: 'backend:cudaMallocAsync' selects CUDA's allocator, and libtorch records none of its allocations" \
  profile "${small[@]}" --device virtual:h200 --alloc-conf backend:cudaMallocAsync
for kernel in flash cudnn; do
  expect 2 "--attention: '$kernel' takes FP16 and BF16 only" ppo "${small[@]}" --device virtual:h200 --attention $kernel \
    --prompt-len 32 --response-len 32
done
expect 2 "--attention: 'efficient' runs on cards only" ppo "${small[@]}" --device cpu --attention efficient \
  --prompt-len 32 --response-len 32
for flag in alloc-conf bytes; do
  expect 2 "--$flag: '' is empty; allowed: a .*\(example: --$flag " dryrun --card h200 "--$flag" '' -- true
done
expect 2 "--bytes: '' is empty; allowed: a size" fit "${small[@]}" --card h200 --bytes ''
expect 2 "--critic-size: '' is empty; allowed: a named shape" ppo "${small[@]}" --critic-size ''
expect 2 "--records: 'a,' has an empty element 2" rlhf --records a,
expect 2 "--seed: needs a value \(example: --seed 4\)" profile "${small[@]}" --seed
expect 2 "--seed: 'x' is a second value; give the flag once \(example: --seed 4\)" profile "${small[@]}" --seed x --seed x
PYTORCH_NO_CUDA_MEMORY_CACHING=1 expect 2 "PYTORCH_NO_CUDA_MEMORY_CACHING: '1' switches off libtorch's caching allocator" \
  profile "${small[@]}" --device virtual:h200
expect 0 '' profile --version
expect 2 "--host-memory: '14,56GiB' is not a size; .* rounded to the byte" sweep "${small[@]}" --host-memory 14,56GiB
expect 2 "--host-memory: '20gigs' is not a size" sweep "${small[@]}" --host-memory 20gigs
expect 2 "--disk-rate: '7GB' is no rate; allowed: bytes .*example: .*--disk-rate 7GB/s" profile "${small[@]}" --disk-rate 7GB
expect 2 "--disk-rate: '7GB/s' is the rate of a disk, and this run keeps nothing on a disk" profile "${small[@]}" --disk-rate 7GB/s
expect 2 "--format: 'xml' is unknown" profile "${small[@]}" --format xml
expect 2 "--profile-type: 'trainin' is unknown.*did you mean training" profile "${small[@]}" --profile-type trainin
expect 2 "--profile-type: 'train' is unknown.*did you mean training" profile "${small[@]}" --profile-type train
expect 2 "--profile-type: 'fwd' is unknown.*did you mean forward\?" profile "${small[@]}" --profile-type fwd
expect 2 "--precision: 'bfloat16' is unknown.*did you mean bf16" sweep "${small[@]}" --precision bfloat16
expect 2 "--recompute: 'ful' is unknown; .*did you mean full\?" profile "${small[@]}" --recompute ful
expect 2 "--recompute: 'budget:1.5' is no budget; .*example: --profile-type training --recompute budget:0.5 --kernels compiled --device cpu\)" \
  profile "${small[@]}" --recompute budget:1.5
for command in profile sweep theory; do
  expect 2 "--recompute: 'every:13' is more than the model's 12 blocks; allowed: every:1 to every:12" \
    "$command" "${small[@]}" --recompute every:13
  expect 2 "--recompute: 'blocks:101%' is no percentage; allowed: blocks:0% to blocks:100%" \
    "$command" "${small[@]}" --recompute blocks:101%
done
expect 2 "--recompute: 'every:0' is no number of blocks" rlhf --recompute every:0
expect 2 "--recompute: 'every:81' is more than the model's 80 blocks" rlhf --recompute every:81
expect 2 "--seed: '-1' is out of range" profile "${small[@]}" --seed -1
expect 2 "--activations: 'int4' is unknown; allowed: exact, .*; did you mean int8\?" profile "${small[@]}" --activations int4
for command in profile theory; do
  expect 2 "--activations: 'int8,fp8' is a list, which only sweep accepts; allowed here: one value \(example: --activations int8\)" \
    $command "${small[@]}" --activations int8,fp8
done
for value in int8:block=0 fp8:block=abc int8:block=7; do
  expect 2 "--activations: '$value' has .*; allowed: 8 to 65536 numbers" profile "${small[@]}" --activations "$value"
done
expect 2 "--activations: 'int8:min=1x' has min=1x; allowed: bytes" sweep "${small[@]}" --activations fp8,int8:min=1x
expect 2 "--activations: 'exact:block=64' has options, and exact takes none" theory "${small[@]}" --activations exact:block=64
expect 2 "'int8:fp8' has the unknown option 'fp8'; allowed after 'int8:' are block=N, min=BYTES" theory "${small[@]}" --activations int8:fp8
expect 2 "'int8:blok=64' has the unknown option 'blok=64'.*did you mean block" profile "${small[@]}" --activations int8:blok=64

expect 2 "--measure-steps: '1' shows no growth; allowed with --watch: 2 or more" profile "${small[@]}" --measure-steps 1 --watch
expect 2 "--record-steps: '1' is too small to see growth" profile "${small[@]}" --record-steps 1 --watch
expect 2 "--stacks: 'none' gives no source lines of growing allocations; allowed with --watch: cpp" profile "${small[@]}" --stacks none --watch
# Gradients.
training=("${small[@]}" --profile-type training)
expect 2 "--micro-batches: '3' does not divide --batch-size 4; allowed: its divisors, 1 to 4 \(example: " profile "${training[@]}" --micro-batches 3
expect 2 "--micro-batches: '8' does not divide --batch-size 4" theory "${training[@]}" --micro-batches 8
expect 2 "--micro-batches: '0' is out of range; allowed: 1 to" profile "${training[@]}" --micro-batches 0
expect 2 "--micro-batches: '2' adds up gradients, and --profile-type forward makes none; allowed there: 1" sweep "${small[@]}" --micro-batches 1,2
expect 2 "--max-grad-norm: '-1' is out of range; allowed: 0 to 1000000 " profile "${training[@]}" --max-grad-norm -1
expect 2 "--max-grad-norm: 'nan' is out of range" profile "${training[@]}" --max-grad-norm nan
expect 2 "--max-grad-norm: '0.5' clips gradients for an optimizer, and --profile-type forward-backward has none; allowed there: 0 \(example: " profile "${small[@]}" --profile-type forward-backward --max-grad-norm 0.5

released=("${training[@]}" --release-gradients)
expect 2 "--release-gradients: 'true' updates parameters, which --profile-type forward does not; allowed: with training" profile "${small[@]}" --release-gradients
expect 2 "--release-gradients: 'true' frees the gradients that --micro-batches 2 adds up; allowed: with --micro-batches 1 \(example: " profile "${released[@]}" --micro-batches 2
expect 2 "--release-gradients: 'true' frees each gradient at once, and --max-grad-norm needs the norm of all of them" sweep "${released[@]}" --max-grad-norm 1
expect 2 "--release-gradients: 'true' updates inside backward, and FP16 loss scaling must check all gradients" theory "${released[@]}" --precision fp16
expect 2 "--release-gradients: 'maybe' is unknown; allowed: false, true" profile "${training[@]}" --release-gradients=maybe
expect 2 "argument 'true' belongs to no flag" profile "${training[@]}" --release-gradients true

offloaded=("${training[@]}" --optimizer-offload cpu)
expect 2 "--optimizer-offload: 'cpu' keeps the states of an optimizer, and --profile-type forward has none; allowed: with training" profile "${small[@]}" --optimizer-offload cpu
expect 2 "--optimizer-offload: 'cpu' updates with AdamW on the host, and --optimizer is lion; allowed: with adamw" profile "${offloaded[@]}" --optimizer lion
expect 2 "--optimizer-offload: 'cpu' updates with AdamW on the host, and --optimizer-impl fused runs on the device; allowed: with reference" sweep "${offloaded[@]}" --optimizer-impl fused
expect 2 "--optimizer-offload: 'cpu' updates FP32 numbers on the host, and BF16 weights without a master copy have none; allowed: with --master-weights fp32" theory "${offloaded[@]}" --param-dtype bf16
expect 2 "--optimizer-offload: 'cpu' already moves each gradient to the host inside backward" profile "${offloaded[@]}" --release-gradients
expect 2 "--optimizer-offload: 'nvme' keeps the state of a run in files, and the scale of an FP16 loss is not" \
  profile "${small[@]}" --profile-type training --optimizer-offload nvme:. --precision fp16
expect 2 "--optimizer-offload: 'nvme' names no directory; allowed: none, cpu, nvme:DIR, nvme:DIR,keep" profile "${training[@]}" --optimizer-offload nvme
expect 2 "--optimizer-offload: 'nvme:/tmp' updates with AdamW on the host, and --optimizer is lion" profile "${training[@]}" --optimizer-offload nvme:/tmp --optimizer lion
expect 2 "--param-offload: 'nvme:/tmp' leaves no weights on the device for its optimizer to update" profile "${training[@]}" --param-offload nvme:/tmp
expect 2 "--param-offload: 'nvme:/a,b' is a list, which only sweep accepts; allowed here: one value" profile "${small[@]}" --param-offload nvme:/a,b
expect 2 "--param-offload: 'nvme:/a,keep' has the unknown option 'keep'; allowed behind the directory: nothing" profile "${small[@]}" --param-offload nvme:/a,keep
expect 5 "cannot write missing: No such file or directory" profile "${small[@]}" --param-offload nvme:missing
expect 5 "cannot write missing: No such file or directory" sweep "${offloaded[@]}" --param-offload none,nvme:missing
expect 5 "cannot write missing: No such file or directory" profile "${training[@]}" --optimizer-offload nvme:missing
expect 2 "--optimizer-offload: 'cpus' is unknown; allowed: none, cpu, nvme:DIR, nvme:DIR,keep; did you mean cpu\?" profile "${training[@]}" --optimizer-offload cpus
for command in profile sweep theory; do
  expect 2 "--param-offload: 'cpu' leaves no weights on the device for its optimizer to update; allowed: with --optimizer-offload cpu, or without an update \(example: --profile-type training --param-offload cpu --optimizer-offload cpu\)" "$command" "${training[@]}" --param-offload cpu
done
expect 2 "--optimizer-offload: 'cpu' updates FP32 numbers on the host" profile "${offloaded[@]}" --param-offload cpu --param-dtype bf16
expect 2 "--param-offload: 'disk' is unknown; allowed: none, cpu, nvme:DIR \(" profile "${small[@]}" --param-offload disk

# Sums beyond 64 bits: refused before anything runs, as every value of a grid is that cannot be run.
beyond=(--model-size 405b --context-length 1048576 --batch-size 1024)
for command in profile sweep theory; do
  expect 2 "--batch-size: '1024' with --context-length 1048576 and --attention eager may make activations beyond 2\^62 bytes" \
    "$command" "${beyond[@]}"
done
expect 2 "--batch-size: '1024'.*beyond 2\^62" sweep --model-size small,405b --context-length 1048576 --batch-size 1,1024
expect 2 "--model-size: 'custom' with .*--vocab-size 1099511627776 may have states beyond 2\^62" theory "${small[@]}" \
  --d-model 1048576 --heads 1024 --vocab-size 1099511627776
expect 0 '' theory --model-size 405b --context-length 131072 --batch-size 1 --output large.txt

expect 2 "--tokens: 'missing.bin' cannot be read: No such file" profile "${small[@]}" --tokens missing.bin
expect 2 "--load-weights: '/' cannot be read: not a regular file" sweep "${small[@]}" --load-weights /
printf '\x01\x00\xff\xff' >ids.bin
expect 2 "--tokens: 'ids.bin' has id 65535 at position 1" profile "${small[@]}" --tokens ids.bin
printf '\x01\x00\xff' >odd.bin
expect 2 "--tokens: 'odd.bin' has 3 bytes" profile "${small[@]}" --tokens odd.bin

# Plans.
expect 2 "--batch-size: '0' is out of range; allowed: 1 to" rlhf --batch-size 0
expect 2 "--batch-size: '-3' is out of range" rlhf --batch-size -3
expect 2 "--batch-size: '1000000000000' with --seq-len 100000 makes activations beyond 2\^62" rlhf --batch-size 1000000000000 --seq-len 100000
expect 2 "--model-size: 'custom' has states beyond 2\^62 bytes" rlhf --vocab-size 1099511627776 --d-model 1048576
expect 2 "--seq-len: '8192' is beyond the context of 7b; allowed: 1 to 4096" rlhf --model-size 7b --seq-len 8192
expect 2 "--micro-batch-size: '9' is more than the batch of 4 sequences; allowed: 1 to 4" rlhf --micro-batch-size 9
expect 2 "--precision: 'tf32' is arithmetic of NVIDIA cards.*allowed there: fp32, bf16, fp16" profile "${small[@]}" --device cpu --precision tf32
expect 2 "--precision: 'fp8' needs a card of compute capability 8.9; that of a100-80gb is 8.0; allowed there: fp32, tf32, bf16, fp16" profile "${small[@]}" --device virtual:a100-80gb --precision fp8
expect 2 "--precision: 'fp8' needs a card of compute capability 8.9; that of rtx3090 is 8.6" theory "${small[@]}" --device virtual:rtx3090 --precision fp8
expect 2 "--precision: 'fp8' applies to FP32 weights" profile "${small[@]}" --param-dtype bf16 --precision fp8
expect 2 "--precision: 'fp8' is unknown" rlhf --precision fp8
expect 2 "--d-ff: '100' is no multiple of 16, .*--d-ff 3072" profile "${small[@]}" --d-ff 100 --precision fp8
expect 2 "--kv-heads: '1' makes keys of 8 numbers, no multiple of 16" profile "${small[@]}" --d-model 64 --heads 8 --kv-heads 1 --precision fp8
expect 2 "--context-length: '33' times 4 sequences is 132 tokens, no multiple of 16" profile "${small[@]}" --context-length 33 --profile-type training --precision fp8
expect 2 "--context-length: '8' times 1 sequences is 8 tokens" sweep "${small[@]}" --context-length 8 --micro-batches 4 --profile-type training --precision bf16,fp8
expect 2 "--optimizer-impl: 'foreach' does not exist for adam8bit; allowed: reference \(example: --optimizer-impl reference\)" profile "${small[@]}" --optimizer adam8bit --optimizer-impl foreach
expect 2 "--optimizer-impl: 'fused' does not exist for lion; allowed: reference, foreach" sweep "${small[@]}" --optimizer adamw,lion --optimizer-impl fused
expect 2 "--optimizer: 'adam8' is unknown.*did you mean adam8bit\?" sweep "${small[@]}" --optimizer adam8
expect 2 "--optimizer: 'adam-mni' is unknown.*did you mean adam-mini\?" profile "${small[@]}" --optimizer adam-mni
expect 2 "--optimizer: 'adamw-8bit' is unknown" rlhf --optimizer adamw-8bit
expect 2 "--optimizer-impl: 'fused' does not exist for adam8bit; allowed: reference" rlhf --optimizer adam8bit --optimizer-impl fused
expect 2 "--one-process: a process has one virtual card and one --alloc-conf" sweep "${small[@]}" --one-process --device virtual:h200,cpu
expect 2 "--response-len: '2048' leaves no prompt" rlhf --response-len 2048
expect 2 "--prompt-len: '4000' is longer than a sequence of 2048" rlhf --prompt-len 4000
expect 2 "--prompt-len: '100' and --response-len 100 do not add up to --seq-len 300" rlhf --prompt-len 100 --response-len 100 --seq-len 300
expect 2 "--tp: '3' does not divide the 8 key/value heads and d_ff 28672 of 70b; allowed: 1, 2, 4, 8 \(example: --tp 8\)" rlhf --tp 3 --num-gpus 3
expect 2 "--tp: '16' is wider than a node of 8 GPUs; allowed: 1, 2, 4, 8 \(example: --tp 8\)" rlhf --tp 16 --num-gpus 16
expect 2 "--pp: '81' is more stages than 70b has layers; allowed: 1 to 80" rlhf --pp 81 --num-gpus 81
expect 2 "--num-gpus: '8' is not tp x pp x dp = 2 x 2 x 1" rlhf --num-gpus 8 --tp 2 --pp 2 --dp 1
expect 2 "--zero: '4' is out of range; allowed: 0 to 3 \(example: --zero 3\)" rlhf --zero 4
expect 2 "card: 'h10' is unknown; did you mean h100-80gb" rlhf --card h10
expect 2 "--gpu-memory: '80' conflicts with --card" rlhf --card h100-80gb --gpu-memory 80
expect 2 "--gpu-memory: '0GB' is no memory" rlhf --gpu-memory 0
expect 2 "--gpu-memory: 'nan' is not a size" rlhf --gpu-memory nan
expect 2 "--model-size: '70' is unknown.*did you mean 7b" rlhf --model-size 70
expect 2 "--critic-size: '8b' is unknown; allowed: none, small" rlhf --critic-size 8b
expect 2 "--reference: 'resident' takes 94.*of a GPU with 74.506 GiB.*allowed here: offload" rlhf --model-size 405b --reference resident
expect 2 "--precision: 'bf61' is unknown; allowed: bf16-mixed" rlhf --precision bf61
expect 2 "--formula closed-form --model-size: '2.7B' is unknown; allowed: 7b, 13b, 70b, 405b" rlhf --formula closed-form --model-size 2.7B
expect 2 '--formula: .closed-form. prints tables only' rlhf --formula closed-form --output timeline.svg
expect 2 "--formula: 'seed' is called closed-form now" rlhf --formula seed
expect 2 "--formula: 'closed' is unknown; allowed: exact, closed-form" rlhf --formula closed
expect 2 "--output: 'timeline.png' is not a name for the timeline; allowed: FILE.svg" rlhf --output timeline.png
expect 5 'cannot write missing/timeline.svg: No such file' rlhf --output missing/timeline.svg
expect 2 '--records: cannot read missing.jsonl' rlhf --records missing.jsonl
expect 2 "--swap-phases: 'yes' is not allowed: the flag is a switch" rlhf --swap-phases=yes

# headroom fit.
fit=(fit --card rtx4090 "${small[@]}")
expect 2 '--card is needed; example: headroom fit' fit "${small[@]}"
expect 2 '--model-size: is required' fit --card rtx4090
expect 2 "card: 'rtx409' is unknown; did you mean rtx4090" fit --card rtx409 "${small[@]}"
expect 2 "--card: 'rtx4090,l40s' is a list; the search for the smallest" fit --card rtx4090,l40s "${small[@]}"
expect 2 "--bytes: '8GiB' sets the memory of one card" fit --card rtx4090,l40s "${small[@]}" --bytes 8GiB
expect 2 "--bytes: 'unlimited' means that everything fits" "${fit[@]}" --bytes unlimited
expect 2 "--allow: 'recomput' is unknown; .*did you mean recompute" "${fit[@]}" --allow recomput
expect 2 "--allow: 'attention' is a technique that sets a value of another given flag" "${fit[@]}" --attention sdpa --allow attention
expect 2 "--forbid: 'zero-4' is unknown" "${fit[@]}" --forbid zero-4
expect 2 "needs several GPUs" "${fit[@]}" --forbid zero-3
expect 2 "--cost-order: 'recompute,checkpoint' names checkpoint twice" "${fit[@]}" --cost-order recompute,checkpoint
expect 2 "--disk: 'a,keep' is no directory for --optimizer-offload nvme:DIR" "${fit[@]}" --disk a,keep
expect 5 'missing' "${fit[@]}" --disk missing
expect 2 "--answers: '11' is out of range; allowed: 1 to 10" "${fit[@]}" --answers 11
expect 2 "--output: 'fit.png' has the wrong ending; allowed: FILE.svg" "${fit[@]}" --output fit.png
expect 2 "--format: 'jsonl' is unknown" "${fit[@]}" --format jsonl
expect 2 "unknown option --device" "${fit[@]}" --device cpu
expect 2 "--batch-size: '0' is out of range" "${fit[@]}" --batch-size 0
expect 5 'cannot write missing/fit.svg: No such file' "${fit[@]}" --output missing/fit.svg
expect 2 "--vary is needed with a program" "${fit[@]}" -- true
expect 2 "--vary: a program is needed after the flags and --" fit --card rtx4090 --vary batch=1..4
expect 2 "--vary: 'batch=1..4' does not appear in the program's arguments; allowed: with \{batch\}" fit --card rtx4090 --vary batch=1..4 -- true
expect 2 "--vary: 'batch=4' is no name and range" fit --card rtx4090 --vary batch=4 -- true '{batch}'
expect 2 "--vary: 'batch=4..1' has '1' in its range; allowed there: integers from 4 to" fit --card rtx4090 --vary batch=4..1 -- true '{batch}'
expect 2 "--model-size: 'small' applies to headroom's own runs only" "${fit[@]}" --vary batch=1..4 -- true '{batch}'
expect 2 "argument 'true' belongs to no flag" fit --card rtx4090 --vary batch=1..4 true
expect 2 "--skip-host-init applies to a program after -- only" "${fit[@]}" --skip-host-init

# Flags.
expect 2 'unknown option --modle-size, did you mean --model-size\?' profile --modle-size small
expect 2 'unknown option --context, did you mean --context-length\?' profile "${small[@]}" --context 512
expect 2 'unknown option --recompute-every, did you mean --recompute\?' theory "${small[@]}" --recompute-every 2
expect 2 'unknown option --micro-batches, did you mean --micro-batch-size\?' rlhf --micro-batches 2
expect 2 "--attention: 'cudnn' runs on cards only; allowed on the CPU: eager, sdpa, math, flash" theory "${small[@]}" --device cpu --attention cudnn
expect 2 'unknown option --mesh: headroom profile has it, this command does not' ppo "${small[@]}" --mesh dp=2
expect 2 'unknown option --save-every: headroom profile has it' sweep "${small[@]}" --save-every 2
expect 2 'unknown option --frobnicate; --help' profile "${small[@]}" --frobnicate=7
expect 2 'unknown option -model-size, did you mean --model-size' profile -model-size small
expect 2 'unknown option -x' profile "${small[@]}" -x
expect 2 "argument '256' belongs to no flag" profile "${small[@]}" --context-length 128 256
expect 2 "argument '256' belongs to no flag" sweep "${small[@]}" --context-length 128 256
expect 2 "--seed: '6' is a second value" profile "${small[@]}" --seed 5 --seed 6
expect 2 '--seed: needs a value' profile "${small[@]}" --seed
expect 2 "--seed: '--layers' is a flag" profile "${small[@]}" --seed --layers
expect 2 "--master-weights: 'fp32' is a copy of BF16 weights.*allowed: none" profile "${small[@]}" --master-weights fp32
expect 2 "--rounding: 'stochastic' applies to updates of BF16 weights.*allowed: nearest" profile "${small[@]}" --rounding stochastic
expect 2 "--rounding: 'stochastic'.*updates FP32 master weights" profile "${small[@]}" --param-dtype bf16 --master-weights fp32 --rounding stochastic
expect 2 "--precision: 'bf16' applies to FP32 weights" sweep "${small[@]}" --param-dtype bf16 --precision bf16
expect 2 "--precision: 'bf16' applies to FP32 weights" profile "${small[@]}" --param-dtype bf16 --use-mixed-precision
expect 2 "--param-dtype: 'fp16' is unknown" theory "${small[@]}" --param-dtype fp16
expect 2 "--use-mixed-precision: 'maybe' is not allowed" profile "${small[@]}" --use-mixed-precision=maybe
expect 2 "argument 'maybe' belongs to no flag" profile "${small[@]}" --use-mixed-precision maybe
expect 2 '--dtype: .bf16. has no effect without --use-mixed-precision' profile "${small[@]}" --dtype bf16
expect 2 'conflicts with --use-mixed-precision' profile "${small[@]}" --use-mixed-precision --precision bf16
expect 2 "--dtype: 'bf61' is unknown" profile "${small[@]}" --use-mixed-precision --dtype bf61
expect 2 'conflicts with --output' profile "${small[@]}" --output a --snapshot b
expect 2 'unknown option --snapshot' sweep "${small[@]}" --snapshot a
expect 2 "command: 'profle' is unknown.*did you mean profile" profle
expect 2 'a command is needed'
# Words of any length, in every place.
long=$(head -c 120000 /dev/zero | tr '\0' x)
for command in profile sweep theory table fit dryrun rlhf budget snapshot compare report plot cards; do
  expect 2 'unknown option --xxx' "$command" "--$long"
  expect 2 'unknown option --xxx' "$command" "--$long=1"
  expect 2 'unknown option -xxx|unknown option xxx' "$command" "-$long"
  expect 2 . "$command" "--format=$long"
done
expect 2 "'xxx.*is unknown" "$long"
expect 2 "--model-size: 'xxx" profile --model-size "$long"
[[ $(wc -c <err) -lt 2500 ]] || fail 'a word of 120,000 bytes is said in full'
expect 2 "'line\\\\nbreak" profile --model-size $'line\nbreak'

# An inference engine's budget.
budget=(budget --model-size 7b)
for share in 0 -0.1 1.01 nan 0.5x ''; do
  expect 2 "--gpu-memory-utilization: '$share' is (not a share|out of range|not a number).*example: " \
    "${budget[@]}" --gpu-memory-utilization "$share"
done
expect 2 "--tp: '3' does not divide the 32 key/value heads and d_ff 11008 of 7b; allowed: 1, 2, 4, 8 \(example: --tp 8\)" "${budget[@]}" --tp 3
expect 2 "--tp: '16' is wider than a node of 8 GPUs; allowed: 1, 2, 4, 8 \(example: --tp 8\)" "${budget[@]}" --tp 16
expect 2 "--max-model-len: '4097' is beyond the context of 7b; allowed: 1 to 4096" "${budget[@]}" --max-model-len 4097
expect 2 "--dtype: 'fp8' is unknown" "${budget[@]}" --dtype fp8
expect 2 "--kv-dtype: 'int8' is unknown" "${budget[@]}" --kv-dtype int8
expect 2 "--block-size: '0' is out of range" "${budget[@]}" --block-size 0
expect 2 "--max-num-seqs: '[0-9]*' makes logits beyond 2\^59 bytes" "${budget[@]}" --max-num-seqs 1099511627776
expect 2 "--kv-cache-memory: '-1GiB' is not a size" "${budget[@]}" --kv-cache-memory -1GiB
expect 2 "--weight-memory: '[0-9]*' is beyond 2\^59" "${budget[@]}" --weight-memory 8000000TB
expect 2 "conflicts with --card" "${budget[@]}" --card h200 --gpu-memory 80
expect 2 '--graph-memory: .* has no effect with --enforce-eager' "${budget[@]}" --graph-memory 1GiB --enforce-eager
expect 2 'unknown option --gpu-memory-utilisation, did you mean --gpu-memory-utilization' \
  "${budget[@]}" --gpu-memory-utilisation 0.5
expect 4 '' "${budget[@]}" --gpu-memory-utilization 0.1
grep -q 'no cache: the share is .* short' out || fail 'the budget does not say what is missing'
expect 4 '' "${budget[@]}" --gpu-memory-utilization 1
grep -q 'would not start: ' out || fail 'the budget does not say that the engine does not start'

finish
