#!/usr/bin/env bash
# headroom serve: what it refuses, and how it reads the log of an engine. The engines are stand-ins that print lines as
# vLLM 0.24 and SGLang 0.5.14 do.
# Usage: serve_test.sh HEADROOM
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"

begin "$1"
ask=(serve --card h100-80gb --config llama-3.1-8b)

# expect_answer ENGINE COMMAND RECIPE TOKENS FLAGS ROW...: the last answer, of an engine on two cards.
expect_answer() {
  local engine=$1 command=$2 recipe=$3 tokens=$4 flags=$5 row
  for row in "${@:6}"; do
    grep -qE "^$row$" out || fail "no row '$row': $(<out)"
  done
  grep -q "llama-3.1-8b in $engine on 2 x h100-80gb, memory of each card" out || fail "no title: $(<out)"
  grep -q "the cache holds $tokens" out || fail "no tokens: $(<out)"
  grep -q -- "^command: $command $flags" out || fail "no command: $(<out)"
  grep -qE -- "$recipe --shape .*/llama-3.1-8b.json $flags$" words || fail "other words: $(<words)"
}

# The program refuses a wrong command line.
expect 2 '--config is needed' serve --card rtx4090
expect 2 '--card is needed' serve --config gpt2
expect 2 "--config: 'llama-8b' is unknown; .*allowed: .*llama-3.1-8b" serve --card rtx4090 --config llama-8b
expect 2 "'--' is needed before the engine's flags, 'fp8'" "${ask[@]}" fp8
expect 2 '--max-len: .*allowed: 1 to 131072' "${ask[@]}" --max-len 131073
expect 2 '--utilization: .*allowed: 0.01 to 1' "${ask[@]}" --utilization 1.5
expect 2 '--tensor-parallel: .*allowed: 1 to 64' "${ask[@]}" --tensor-parallel 0
expect 2 '--pipeline-parallel: .*allowed: 1 to 16' "${ask[@]}" --tensor-parallel 4 --pipeline-parallel 17

# The answers.
cat >engine <<'EOS'
#!/bin/sh
echo "$@" >words
case "$*" in
*fail*)
  echo 'ERROR 11-27 [core.py:1] ValueError: To serve at least one request, 16.0 GiB is needed'
  echo 'RuntimeError: Engine core initialization failed. See root cause above.'
  exit 1 ;;
*crash*) echo 'Segmentation fault'; exit 139 ;;
*silent*) exit 0 ;;
*lacks*)
  echo 'pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig'
  echo '  Value error, The quantization method fp8 is not supported for the current GPU. Minimum capability: 100. [type=value_error]'
  exit 1 ;;
*huge*) echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB'; exit 1 ;;
*long*) echo 'ValueError: 16.0 GiB KV cache memory is needed. Based on it, the estimated maximum model length is 23456.'; exit 1 ;;
*"--gpu-memory-utilization 0.2"[0-4]*) echo 'ValueError: No available memory for the cache blocks.'; exit 1 ;;
esac
outside=0.02
case "$*" in *sleep*) outside=-0.02 ;; esac
echo '(EngineCore pid=7) DEBUG 11-27 [w.py:5] Memory profiling takes 1.5 seconds. Total non KV cache memory: 16.1GiB;' \
  'torch peak memory increase: 0.88GiB; non-torch forward increase memory:' "${outside}GiB; weights memory: 15.0GiB."
echo 'INFO 11-27 [gpu_worker.py:508] Available KV cache memory: 55.38 GiB'
echo 'INFO 11-27 [kv_cache_utils.py:2146] GPU KV cache size: 453,680 tokens'
echo 'INFO 11-27 [kv_cache_utils.py:2147] Maximum concurrency for 4,096 tokens per request: 110.76x'
echo 'INFO 11-27 [model_runner.py:726] Graph capturing finished in 6 secs, took 0.69 GiB'
echo 'the request ended: 4088 tokens of a prompt, 8 of an answer'
case "$*" in *sleep*) printf 'INFO Sleep mode freed %s GiB memory, 1.0 GiB memory is still in use.\n' 60.1 61.2 ;; esac
EOS
chmod +x engine
export HEADROOM_SERVE_PYTHON=$PWD/engine

expect 0 '' "${ask[@]}" --max-len 4096 --tensor-parallel 2 --eager -- --kv-cache-dtype fp8
expect_answer vLLM 'vllm serve MODEL' vllm_recipe.py '453,680 tokens: 110.76 requests of 4,096 tokens' \
  '--tensor-parallel-size 2 --max-model-len 4096 --gpu-memory-utilization 0.9 --enforce-eager --kv-cache-dtype fp8' \
  'weights +15.0' 'activations, peak of the profiling run +0.88' 'outside torch +0.02' 'KV cache +55.38' 'CUDA graphs, .* +0.69'
grep -q 'not counted' out && fail "memory outside torch, of which nothing is known on several cards: $(<out)"

expect 4 'does not start on h100-80gb: To serve at least one request, 16.0 GiB is needed$' "${ask[@]}" -- fail
expect 4 'does not start on h100-80gb: exit code 139: Segmentation fault' "${ask[@]}" -- crash
expect 4 'does not start on h100-80gb: it ended before its cache was made' "${ask[@]}" -- silent

# Advice, from the engine's own words.
expect 4 'maximum model length is 23456.; try --max-len 23456$' "${ask[@]}" -- long
expect 4 'Minimum capability: 100.; try --card with one of (b200, rtx-pro-6000, rtx5090|rtx5090, rtx-pro-6000, b200)$' "${ask[@]}" -- lacks
expect 4 'out of memory.*; try --tensor-parallel 2$' serve --card t4 --config llama-3.1-8b -- huge
expect 4 'out of memory.*; try --eager, a larger --utilization, or more cards$' serve --card l4 --config qwen3-0.6b -- huge

# A request, sleep mode, and searches.
expect 0 '' "${ask[@]}" --sleep
tr '\n' ' ' <out | grep -q 'not counted: .* 0.09 to 0.27 GiB outside torch on real cards, 737 to 2,211 tokens of this cache' ||
  fail "memory outside torch is not named: $(<out)"
grep -q 'a request ran until it ended: 4,088 tokens of a prompt, 8 of an answer' out || fail "no request: $(<out)"
grep -qE '^given back by sleep mode, level 2 +61.2$' out || fail "no sleep: $(<out)"
grep -qE '^outside torch +-0.02$' out || fail "no memory outside torch: $(<out)"
grep -q -- '--enable-sleep-mode$' words || fail "other words: $(<words)"
expect 0 '' "${ask[@]}" --find length
grep -q -- '^command: vllm serve MODEL --max-model-len 4096 ' out || fail "no length: $(<out)"
grep -q -- '--max-model-len -1 ' words || fail "other words: $(<words)"
expect 0 'utilization 0.24: No available memory' "${ask[@]}" --find utilization
grep -q '^lowest utilization: 0.25, in steps of 0.01$' out || fail "no lowest: $(<out)"
expect 0 '' "${ask[@]}" --find cards
grep -q '^fewest cards: h100-80gb$' out || fail "no cards: $(<out)"
grep -q 'h100-80gb: starts' err && fail "started again on the cards of the first start: $(<err)"
expect 0 '' "${ask[@]}" --find card
grep -q '^smallest card: l4$' out || fail "no card: $(<out)"
expect 2 "--find: 'cheap' is unknown; allowed: length, utilization, cards, card" "${ask[@]}" --find cheap
expect 2 "--beside: '90GiB' takes the whole card" "${ask[@]}" --beside 90GiB
expect 5 'the memory that is left for training is not known' "${ask[@]}" --beside 9GiB

# SGLang, with two ranks.
cat >sglang <<'EOS'
#!/bin/sh
echo "$@" >words
case "$*" in *fail*) echo 'ValueError: Loaded weights leave no GPU memory for the KV cache'; exit 1 ;; esac
for rank in TP0 TP1; do
  echo "[2026-11-29 03:15:26 $rank] Load weight end. elapsed=0.07 s, type=LlamaForCausalLM, avail mem=70.54 GB, mem usage=7.56 GB."
  echo "[2026-11-29 03:15:27 $rank] KV Cache is allocated. dtype: torch.float16, #tokens: 942028, K size: 28.75 GB, V size: 28.75 GB"
  echo "[2026-11-29 03:15:28 $rank] Capture target prefill CUDA graph end. elapsed=21.21 s, mem usage=0.91 GB, avail mem=11.43 GB."
  echo "[2026-11-29 03:15:29 $rank] Capture target decode CUDA graph end. elapsed=4.86 s, mem usage=0.48 GB, avail mem=10.94 GB."
done
echo '[2026-11-29 03:15:30 TP0] max_total_num_tokens=942028, chunked_prefill_size=8192, context_len=8192, available_gpu_mem=12.88 GB'
echo 'the request ended: 8177 tokens of a prompt, 8 of an answer'
EOS
chmod +x sglang
export HEADROOM_SGLANG_PYTHON=$PWD/sglang
expect 0 '' "${ask[@]}" --engine sglang --max-len 8192 --tensor-parallel 2 --utilization 0.8 --eager -- --page-size 16
expect_answer SGLang 'python -m sglang.launch_server --model-path MODEL' sglang_recipe.py \
  '942,028 tokens: 114.99 requests of 8,192 tokens' \
  '--tp-size 2 --context-length 8192 --mem-fraction-static 0.8 --disable-cuda-graph --page-size 16' \
  'weights +7.56' 'KV cache +57.50' 'CUDA graphs, .* +1.39'
expect 0 '' "${ask[@]}" --engine sglang
grep -q -- '--mem-fraction-static' words && fail "the engine's own part is not kept: $(<words)"
expect 4 'does not start on h100-80gb: Loaded weights leave no GPU memory' "${ask[@]}" --engine sglang -- fail
expect 2 "--engine: 'tgi' is unknown; allowed: vllm, sglang" "${ask[@]}" --engine tgi
expect 2 "--engine: 'sglang' takes no --find, which is for vllm" "${ask[@]}" --engine sglang --find length

finish
