#!/usr/bin/env bats
# The part scripts and run_all.sh, against a stand-in for the headroom program.
# shellcheck disable=SC2030,SC2031  # every test is a subshell, on purpose

setup() {
  scripts=$BATS_TEST_DIRNAME/../../scripts
  export HEADROOM_BIN=$BATS_TEST_DIRNAME/stubs/stub_headroom
  export STUB_LOG=$BATS_TEST_TMPDIR/cells
  export OUTPUT_DIR=$BATS_TEST_TMPDIR/out DEVICE=cpu
  unset MODEL_SIZE CONTEXTS WARMUP_STEPS MEASURE_STEPS STUB_FAIL STUB_CRASH STUB_TABLE_EXIT
  touch "$STUB_LOG"
}

last_line() { printf '%s' "${lines[${#lines[@]} - 1]}"; }

outputs() { (cd "$OUTPUT_DIR" && find . -maxdepth 1 -type f -printf '%f\n' | LC_ALL=C sort | tr '\n' ' '); }

@test "run_all leaves exactly the assignment's names, every snapshot is the cell its name says, each cell runs once" {
  run "$scripts/run_all.sh"
  echo "$output"
  [ "$status" -eq 0 ]
  expected="activation_size_analysis.csv activation_size_analysis.md activation_size_analysis.txt"
  expected+=" largest_allocations.csv largest_allocations.jsonl largest_allocations.md largest_allocations.txt"
  expected+=" memory_timeline.jsonl"
  expected+=" mixed_precision_memory_summary.csv mixed_precision_memory_summary.jsonl"
  expected+=" mixed_precision_memory_summary.md mixed_precision_memory_summary.txt"
  expected+=" peak_memory_summary.csv peak_memory_summary.jsonl peak_memory_summary.md peak_memory_summary.txt"
  expected+=" records.jsonl report.html"
  expected+=" small_ctx128_forward_snapshot.pickle small_ctx128_training_snapshot.pickle"
  expected+=" small_ctx256_forward_snapshot.pickle small_ctx256_training_snapshot.pickle"
  expected+=" small_ctx512_forward_bf16_snapshot.pickle small_ctx512_forward_fp32_snapshot.pickle"
  expected+=" small_ctx512_forward_snapshot.pickle"
  expected+=" small_ctx512_training_bf16_snapshot.pickle small_ctx512_training_fp32_snapshot.pickle"
  expected+=" small_ctx512_training_snapshot.pickle "
  [ "$(outputs)" = "$expected" ]
  [ "$(last_line)" = "all parts done: 28 files in $OUTPUT_DIR" ]
  [ "$(<"$OUTPUT_DIR/small_ctx128_forward_snapshot.pickle")" = small_ctx128_forward_fp32_device-cpu ]
  [ "$(<"$OUTPUT_DIR/small_ctx512_training_snapshot.pickle")" = small_ctx512_training_fp32_device-cpu ]
  [ "$(<"$OUTPUT_DIR/small_ctx512_training_bf16_snapshot.pickle")" = small_ctx512_training_bf16_device-cpu ]
  [ "$(wc -l <"$STUB_LOG")" -eq 8 ]
  [ "$(sort "$STUB_LOG" | uniq -d)" = "" ]
  run "$scripts/run_all.sh"
  [ "$status" -eq 0 ]
  [ "$(wc -l <"$STUB_LOG")" -eq 8 ]
}

@test "a cell in the middle fails: the others run, the tables are written, the last line names it, exit 3" {
  export STUB_FAIL=small_ctx256_training_fp32_device-cpu
  run "$scripts/profile_part_b.sh"
  [ "$status" -eq 3 ]
  [ "$(wc -l <"$STUB_LOG")" -eq 6 ]
  [ "$(last_line)" = "failed, 1 of 9 steps: $STUB_FAIL (killed: killed by signal 9)" ]
  [ -f "$OUTPUT_DIR/small_ctx512_training_snapshot.pickle" ]
  [ ! -e "$OUTPUT_DIR/small_ctx256_training_snapshot.pickle" ]
  [ -s "$OUTPUT_DIR/peak_memory_summary.txt" ]
}

@test "in run_all a failed cell is named once, and the later parts still run" {
  export STUB_FAIL=small_ctx512_training_fp32_device-cpu
  run "$scripts/run_all.sh"
  [ "$status" -eq 3 ]
  [[ "$(last_line)" == "failed, 1 of "*" steps: $STUB_FAIL (killed: "* ]]
  [ "$(wc -l <"$STUB_LOG")" -eq 8 ]
  [ -s "$OUTPUT_DIR/activation_size_analysis.txt" ]
  [ -s "$OUTPUT_DIR/mixed_precision_memory_summary.md" ]
}

@test "a failed table leaves no half-written file and keeps the earlier one" {
  run "$scripts/profile_part_b.sh"
  before=$(<"$OUTPUT_DIR/peak_memory_summary.txt")
  STUB_TABLE_EXIT=1 run "$scripts/profile_part_b.sh"
  [ "$status" -eq 3 ]
  [ "$(last_line)" = "failed, 1 of 7 steps: peak_memory_summary.txt (exit 1)" ]
  [ "$(<"$OUTPUT_DIR/peak_memory_summary.txt")" = "$before" ]
  [ -z "$(find "$OUTPUT_DIR" -name '*.partial')" ]
}

@test "a sweep that dies costs the cells it did not reach, and they are named" {
  export STUB_CRASH=small_ctx512_training_bf16_device-cpu
  run "$scripts/run_all.sh"
  echo "$output"
  [ "$status" -eq 3 ]
  [[ "$(last_line)" == "failed, 1 of "*": small_ctx512_training_bf16 (no result, sweep exit 5)" ]]
  [ -f "$OUTPUT_DIR/small_ctx512_forward_bf16_snapshot.pickle" ]
}

@test "every cell fails: exit 4" {
  export STUB_FAIL=small_ctx512_training_fp32_device-cpu
  run "$scripts/profile_part_e.sh"
  [ "$status" -eq 4 ]
}

@test "a snapshot that was deleted is said to be missing" {
  run "$scripts/profile_part_a.sh"
  rm "$OUTPUT_DIR"/cells/*forward*
  run "$scripts/profile_part_a.sh"
  [ "$status" -eq 3 ]
  [[ "$(last_line)" == *"is gone: delete $OUTPUT_DIR/records.jsonl and run again"* ]]
}

@test "bad flags and values: one line, exit 2, nothing runs" {
  for flags in "--siz small" "--contexts 128,,256" "--contexts 512x" "--contexts 0" "--model-size" \
    "--model-size small,medium" "--model-size ../x" "--output-dir=" "--contexts=" "--device=" "stray"; do
    # shellcheck disable=SC2086  # words on purpose
    run "$scripts/run_all.sh" $flags
    echo "$flags: $output"
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    [ ! -e "$OUTPUT_DIR" ]
  done
}

@test "a size that headroom does not know stops at once with its exit code" {
  run "$scripts/run_all.sh" --model-size tiny
  [ "$status" -eq 2 ]
  [ "$(last_line)" = "--model-size 'tiny' is unknown" ]
  [ ! -e "$OUTPUT_DIR/activation_size_analysis.txt" ]
}

@test "an output folder that cannot be written: one line, exit 5" {
  OUTPUT_DIR=/dev/null/out run "$scripts/profile_part_d.sh"
  [ "$status" -eq 5 ]
  [[ "$(last_line)" == *"--output-dir '/dev/null/out' is not writable" ]]
}

@test "flags win over the environment, and sizes and steps follow the device" {
  CONTEXTS=64 MODEL_SIZE=small run "$scripts/profile_part_d.sh" --model-size=2.7B
  grep -q -- "--model-size 2.7B --context-length 64" "$OUTPUT_DIR/activation_size_analysis.txt"
  DEVICE=cuda run "$scripts/profile_part_a.sh"
  [ "$(sort "$STUB_LOG" | head -n 1)" = 2.7B_ctx512_forward_fp32_device-cuda ]
}

@test "a relative output folder is the caller's" {
  cd "$BATS_TEST_TMPDIR"
  OUTPUT_DIR=here run "$scripts/profile_part_d.sh"
  [ -s "$BATS_TEST_TMPDIR/here/activation_size_analysis.md" ]
}

@test "among all sizes, out of memory is a row and anything else a failure" {
  export DEVICE=virtual:h200 CONTEXTS=128
  STUB_OOM=10B_ctx128_training_fp32_device-virtual:h200 run "$scripts/profile_sizes.sh"
  echo "$output"
  [ "$status" -eq 0 ]
  grep -q '"status": "oom"' "$OUTPUT_DIR/all_sizes_memory_summary.jsonl"
  rm -rf "$OUTPUT_DIR"
  STUB_FAIL=xl_ctx128_training_fp32_device-virtual:h200 run "$scripts/profile_sizes.sh"
  [ "$status" -eq 3 ]
  [[ "$(last_line)" == "failed, 1 of "*"xl_ctx128_training_fp32_device-virtual:h200 (killed: killed by signal 9)" ]]
}

@test "an empty output folder is refused, not taken for the default" {
  for flags in "--output-dir=" "--output-dir"; do
    run "$scripts/run_all.sh" "$flags" ""
    echo "$output"
    [ "$status" -eq 2 ]
    [[ "${lines[0]}" == "run_all.sh: --output-dir '' is empty; "* ]]
  done
}

@test "two in one folder: the second says who is at work, waits, and finds everything done" {
  STUB_SECONDS=3 "$scripts/profile_part_b.sh" >"$BATS_TEST_TMPDIR/first" 2>&1 &
  for _ in {1..1200}; do
    [ -s "$OUTPUT_DIR/cells/.lock" ] && break
    sleep 0.05
  done
  run "$scripts/run_all.sh"
  echo "$output"
  wait $!
  [ "$status" -eq 0 ]
  [[ "$output" == *"waiting: profile_part_b.sh (process $!, since "*") is at work in $OUTPUT_DIR"* ]]
  [ "$(wc -l <"$STUB_LOG")" -eq 8 ]
  [ "$(sort "$STUB_LOG" | uniq -d)" = "" ]
  [[ "$(<"$BATS_TEST_TMPDIR/first")" == *"part b done: "* ]]
}

@test "two in folders of their own do not wait for each other" {
  STUB_SECONDS=60 "$scripts/profile_part_b.sh" --output-dir "$BATS_TEST_TMPDIR/other" >/dev/null 2>&1 3>&- &
  run "$scripts/profile_part_b.sh"
  kill $!
  [ "$status" -eq 0 ]
  [[ "$output" != *waiting* ]]
}

@test "a signal to the script alone ends it and its sweep at once, waiting or working" {
  STUB_SECONDS=60 "$scripts/profile_part_b.sh" >/dev/null 2>&1 3>&- &
  working=$!
  for _ in {1..1200}; do
    [ -s "$OUTPUT_DIR/cells/.lock" ] && break
    sleep 0.05
  done
  "$scripts/profile_part_b.sh" >"$BATS_TEST_TMPDIR/second" 2>&1 3>&- &
  waiting=$!
  for _ in {1..1200}; do
    grep -q "^waiting: " "$BATS_TEST_TMPDIR/second" && break
    sleep 0.05
  done
  for script in $waiting $working; do
    began=$SECONDS
    kill -TERM "$script"
    status=0
    wait "$script" || status=$?
    [ "$status" -eq 130 ]
    [ $((SECONDS - began)) -le 15 ] # one, and a machine that is busy; the sweep would take 60
  done
  run "$scripts/profile_part_b.sh" # nobody holds the folder
  [[ "$output" != *waiting* ]]
}

@test "--model-size small profiles small and nothing else" {
  DEVICE=virtual:h200 CONTEXTS=128 run "$scripts/run_all.sh" --model-size small
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(grep -vcE '^(small|custom)_' "$STUB_LOG")" -eq 0 ] # custom: the techniques' step on the CPU
  [ "$(grep -c . "$OUTPUT_DIR/all_sizes_memory_summary.jsonl")" -eq 6 ]
  DEVICE=virtual:h200 CONTEXTS=128 run "$scripts/profile_sizes.sh" --model-size 2.7B --output-dir "$BATS_TEST_TMPDIR/one"
  [ "$(grep -c . "$BATS_TEST_TMPDIR/one/all_sizes_memory_summary.jsonl")" -eq 12 ]
  grep -q 2.7B_ctx2048_ "$STUB_LOG"
}

# a_checkout: a folder with the scripts, a set-up that has nothing to do, and a build that logs what it is asked for.
a_checkout() {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree/bin" "$tree/build/release/bin"
  cp -r "$scripts" "$tree/scripts"
  printf '#!/bin/bash\n' >"$tree/scripts/setup.sh"
  printf '#!/bin/bash\nexec "%s" "$@"\n' "$HEADROOM_BIN" >"$tree/build/release/bin/headroom"
  # shellcheck disable=SC2016  # for the stand-in to expand
  printf '#!/bin/bash\n%s\n' '[[ $* == *" -n" ]] || echo "built ${*:5}" >>"$STUB_LOG"
    [[ -z ${STUB_BUILD:-} || $* != *"$STUB_BUILD"* ]] || { echo "error: of the compiler" && exit 1; }
    printf "[1/2] Building CXX object train/CMakeFiles/headroom_train.dir/step.cpp.o\n[2/2] Linking CXX executable bin/x\n"' \
    >"$tree/bin/cmake"
  chmod +x "$tree/bin/cmake" "$tree/build/release/bin/headroom"
  export PATH=$tree/bin:$PATH
  unset HEADROOM_BIN
}

@test "run_all builds what its parts run, then runs the parts, then builds the benchmarks; a part builds no benchmarks" {
  grep -q 'headroom_bench' "$scripts/../README.md"
  a_checkout
  run "$tree/scripts/run_all.sh"
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(head -n 1 "$STUB_LOG")" = "built headroom headroom-cell" ]
  [ "$(tail -n 1 "$STUB_LOG")" = "built headroom_bench headroom_operations headroom_breakdown" ] # the CPU has no sizes, techniques and fits
  [ "$(grep -c built "$STUB_LOG")" -eq 2 ]
  [ "$(grep -c . "$STUB_LOG")" -eq 10 ]
  rm "$STUB_LOG"
  run "$tree/scripts/profile_part_b.sh"
  [ "$(grep built "$STUB_LOG")" = "built headroom headroom-cell" ]
}

@test "a build that fails shows its end: exit 5 before the parts, and after them a step that failed" {
  a_checkout
  STUB_BUILD=headroom-cell run "$tree/scripts/run_all.sh"
  [ "$status" -eq 5 ]
  [[ $output == *"error: of the compiler"*"the build failed; the whole output is in build/release-build.log" ]]
  STUB_BUILD=headroom_bench run "$tree/scripts/run_all.sh"
  [ "$status" -eq 3 ]
  [[ "$(last_line)" == "failed, 1 of "*" steps: headroom_bench (exit 1)" ]]
  [ -s "$OUTPUT_DIR/peak_memory_summary.txt" ]
}

@test "without a card everything runs on a virtual one, all sizes follow, and run_all ends with what a reader wants first" {
  unset DEVICE
  PATH=/usr/bin:/bin CONTEXTS=128,256 run "$scripts/run_all.sh"
  echo "$output"
  [ "$status" -eq 0 ]
  [ -f "$OUTPUT_DIR/2.7B_ctx256_training_bf16_snapshot.pickle" ]
  [ "$(grep -c . "$OUTPUT_DIR/all_sizes_memory_summary.jsonl")" -eq 78 ]
  [ -s "$OUTPUT_DIR/all_sizes_memory_summary.md" ]
  grep -q 2.7B_ctx2048_training_fp32_device-virtual:a100-80gb "$STUB_LOG"
  [[ $output != *"No such file"* ]] # parts are counted before their tables are written
  [[ $output == *"== what was made, in $OUTPUT_DIR"*"tables (.md)   activation_size_analysis "*"snapshots      8, "* ]]
  [[ $output == *"report         report.html: open it in a browser"* ]]
  [[ $output == *"largest peak   2.00 GiB (2.7B, "*"BF16 autocast  forward 2.00 -> 2.00 GiB (+0.0%), training 2.00"* ]]
  [[ $output == *"what fits      training 2.7B, batch 4, context 256 on rtx4090: 2.00 GiB with adam8bit"* ]]
  [[ $output == *"look further   $HEADROOM_BIN snapshot top $OUTPUT_DIR/2.7B_ctx256_training_snapshot.pickle"* ]]
  [[ "$(last_line)" == "all parts done: "* ]]
}

@test "help fits a terminal of 80 columns" {
  for script in run_all profile_part_a profile_sizes profile_techniques profile_attention; do
    run "$scripts/$script.sh" --help
    [ "$status" -eq 0 ]
    [[ $output == *"--model-size "*"Exit codes: "* ]]
    [ "$(awk 'length > 80' <<<"$output")" = "" ]
  done
}

@test "a flag that is given twice, or two that say the same, are refused by every script" {
  refused() {
    local script=$1
    shift
    run "$scripts/$script" "$@"
    echo "$script $*: $status $output"
    [ "$status" -eq 2 ]
    [[ "$output" == *"is given "* ]]
  }
  refused run_all.sh --contexts 128 --contexts=256
  refused profile_part_b.sh --device cpu --card h200
  refused gpu_suite.sh --real cuda --real cpu
  refused ../studies/host/disk_bench.sh "$BATS_TEST_TMPDIR" --size 1 --size 2
  refused launch.sh --nproc 1 --nproc 2 -- --mesh dp=2
  refused ../studies/programs/program_matrix.sh --rows a --rows b
  refused torch_versions.sh --card h200 --card h100-80gb
  refused run_memory_optimized_ppo.sh --preset balanced --preset=balanced
  refused ../studies/planning/parallel_tables.sh --output-dir "$BATS_TEST_TMPDIR" --output-dir "$BATS_TEST_TMPDIR"
}
