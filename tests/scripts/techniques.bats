#!/usr/bin/env bats
# scripts/profile_techniques.sh, against a stand-in for the headroom program.

setup() {
  profile=$BATS_TEST_DIRNAME/../../scripts/profile_techniques.sh
  export HEADROOM_BIN=$BATS_TEST_DIRNAME/stubs/stub_headroom
  export STUB_LOG=$BATS_TEST_TMPDIR/cells
  export OUTPUT_DIR=$BATS_TEST_TMPDIR/out DEVICE=virtual:h200 TECHNIQUE_ROUNDS=1
  unset MODEL_SIZE CONTEXTS WARMUP_STEPS MEASURE_STEPS STUB_FAIL STUB_OOM STUB_CRASH
  touch "$STUB_LOG"
}

rows() { grep -c '^| ' "$OUTPUT_DIR/techniques.md"; }

@test "every technique is a row, with its memory, its time and what is claimed; a second run runs nothing" {
  run "$profile"
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(rows)" -gt 20 ]
  grep -q '^| 8-bit Adam | as it is | 2.000 | 0.000 | 0.0 | +0 | +0.0000 | 12 -> 8 bytes | 12.00 bytes | no |$' \
    "$OUTPUT_DIR/techniques.md"
  [ "$(rows)" -eq $(($(wc -l <"$OUTPUT_DIR/techniques.csv") + 1)) ]
  grep -q '^| as it is | 2.000 |' "$OUTPUT_DIR/techniques_short.md"
  [ "$(grep -c '"step_ms"' "$OUTPUT_DIR/techniques.svg")" -eq $(($(rows) - 2)) ] # a virtual card has no times: the CPU's
  [ "$(grep -c '^| compiled kernels' "$OUTPUT_DIR/techniques.md")" -eq 0 ] # nothing was compiled
  cells=$(wc -l <"$STUB_LOG")
  [ "$cells" -gt 50 ]
  run "$profile"
  [ "$status" -eq 0 ]
  [ "$(wc -l <"$STUB_LOG")" -eq "$cells" ] # a second run runs nothing
}

@test "a card's peaks are drawn against its times, without those of the CPU" {
  DEVICE=cuda run "$profile"
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(wc -l <"$OUTPUT_DIR/techniques.svg")" -eq $(($(rows) - 2)) ]
  [ "$(grep -c '"what": "time"' "$OUTPUT_DIR/techniques.svg")" -eq 0 ]
}

@test "times of compiled kernels are a column, where they are asked for" {
  export TECHNIQUE_COMPILED=1
  run "$profile"
  echo "$output"
  [ "$status" -eq 0 ]
  grep -q '| time, % | compiled time, % |' "$OUTPUT_DIR/techniques.md"
  grep -q '^| 8-bit Adam | as it is | 2.000 | 0.000 | 0.0 | +0 | +0 | +0.0000 |' "$OUTPUT_DIR/techniques.md"
  grep -q '^| compiled kernels, budget 0.5 | compiled kernels | 2.000 | 0.000 | 0.0 | +0 | n/a | +0.0000 |' "$OUTPUT_DIR/techniques.md"
}

@test "a cell that fails is said and costs its row alone; one out of memory is no failure" {
  export STUB_FAIL=2.7B_ctx512_training_fp32_device-virtual:h200_lion
  export STUB_OOM=2.7B_ctx512_training_fp32_device-virtual:h200_adam8bit
  run "$profile"
  echo "$output"
  [ "$status" -eq 3 ]
  [[ "$output" == *"  Lion: killed: killed by signal 9"* ]]
  grep -q '^| Lion | as it is | killed | killed | killed |' "$OUTPUT_DIR/techniques.md"
  grep -q '^| 8-bit Adam | as it is | oom | oom | oom |' "$OUTPUT_DIR/techniques.md"
  grep -q '^| Adam-mini | as it is | 2.000 |' "$OUTPUT_DIR/techniques.md"
}

@test "without BF16 products on the CPU, steps with them are not timed; what the card does not have is no failure" {
  export STUB_CPU=AVX2 STUB_REFUSES=fp8
  run "$profile"
  echo "$output"
  [ "$status" -eq 0 ]
  grep -q '^| BF16 autocast | as it is | 2.000 | 0.000 | 0.0 | n/a | n/a |' "$OUTPUT_DIR/techniques.md"
  grep -q '^| Lion | as it is | 2.000 | 0.000 | 0.0 | +0 | +0.0000 |' "$OUTPUT_DIR/techniques.md"
  grep -q 'This CPU has no BF16 products' "$OUTPUT_DIR/techniques.md"
  grep -q '^| FP8 products, BF16 autocast | BF16 autocast | unsupported | unsupported | unsupported | n/a | n/a |' \
    "$OUTPUT_DIR/techniques.md"
}
