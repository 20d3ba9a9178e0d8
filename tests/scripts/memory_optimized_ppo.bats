#!/usr/bin/env bats
# scripts/run_memory_optimized_ppo.sh, against a stand-in that says how it was called.

setup() {
  script=$BATS_TEST_DIRNAME/../../scripts/run_memory_optimized_ppo.sh
  presets=$(cd "$BATS_TEST_DIRNAME/../../scripts/presets" && pwd)
  export HEADROOM_BIN=$BATS_TEST_TMPDIR/headroom
  printf '#!/bin/sh\necho "$@"\n' >"$HEADROOM_BIN"
  chmod +x "$HEADROOM_BIN"
  unset MODEL_SIZE PRESET PROMPT_LEN RESPONSE_LEN BATCH_SIZE
  export DEVICE=virtual:h200
}

@test "the memory-constrained preset is the default" {
  run "$script"
  [ "$status" -eq 0 ]
  [ "$output" = "ppo --setup $presets/memory_constrained.json --model-size 7b --device virtual:h200 --prompt-len 512 --response-len 512 --batch-size 8" ]
}

@test "variables and flags are passed on, and a flag wins over its variable" {
  MODEL_SIZE=small BATCH_SIZE=4 PRESET=balanced run "$script" --top-p 0.9 --batch-size=2
  [ "$status" -eq 0 ]
  [ "$output" = "ppo --setup $presets/balanced.json --model-size small --device virtual:h200 --prompt-len 512 --response-len 512 --top-p 0.9 --batch-size=2" ]
}

@test "the preset of many GPUs is a plan" {
  run "$script" --preset multi_gpu_70b --num-gpus 64
  [ "$status" -eq 0 ]
  [ "$output" = "rlhf --setup $presets/multi_gpu_70b.json --num-gpus 64" ]
}

@test "another preset is refused with those that there are" {
  run "$script" --preset cheap
  [ "$status" -eq 2 ]
  [ "$output" = "run_memory_optimized_ppo.sh: --preset: 'cheap' is no preset; allowed: balanced memory_constrained multi_gpu_70b (example: --preset balanced)" ]
  run "$script" --preset ../presets/balanced
  [ "$status" -eq 2 ]
}

@test "the exit code is headroom's" {
  printf '#!/bin/sh\nexit 4\n' >"$HEADROOM_BIN"
  run "$script"
  [ "$status" -eq 4 ]
}
