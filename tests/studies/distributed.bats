#!/usr/bin/env bats
# The comparisons with published peaks of distributed programs, over programs that answer with fixed figures.

setup() {
  studies=$BATS_TEST_DIRNAME/../../studies
  cd "$BATS_TEST_TMPDIR" || exit
  mkdir -p checkout
  : >checkout/marker
  cat >published.json <<'JSON'
{"programs": [{"repository": "some/one", "marker": "marker", "source": "somewhere", "paths": ["."], "distributions": ["one"],
  "commands": [{"flags": ["--card", "h200"], "words": ["{checkout}/program", "4"]}],
  "figures": [{"what": "peak", "command": 0, "published": "12.50", "unit": "GiB", "divisor": 1024, "pattern": "peak ([0-9]+)"}]}]}
JSON
  cat >headroom <<'STUB'
#!/usr/bin/env bash
# dryrun FLAGS -- PYTHON PROGRAM N: its words must come as they are, and one must be installed.
[[ "$*" == "dryrun --card h200 --events "*" -- py $CHECKOUT/program 4" && -d one-0.dist-info ]] || { echo "not $*" >&2; exit 9; }
[[ "$*" == *late* ]] && PEAK=${LATE:-}
echo "peak ${PEAK:-12800}"
STUB
  chmod +x headroom
  export CHECKOUT=$PWD/checkout
}

compare() {
  python3 -S "$studies/programs/distributed_programs.py" run published.json "$PWD/headroom" py checkout >ours.json &&
    python3 -S "$studies/programs/distributed_programs.py" table published.json ours.json
}

@test "a program's figure stands in the digits of the published one" {
  run compare
  [ "$status" -eq 0 ]
  [[ "$output" == *"| peak, GiB | 12.50 | 12.50 | equal |"* ]]
  PEAK=12900 run compare
  [[ "$output" == *"| peak, GiB | 12.50 | 12.60 | +0.800 % |"* ]]
}

@test "with both timings of events the published figure lies between, at a bound, or outside" {
  sed -i 's/"what": "peak"/"what": "peak", "late": true/' published.json
  PEAK=12600 LATE=13000 run compare
  [[ "$output" == *"| peak, GiB | 12.50 | 12.30 to 12.70 | between |"* ]]
  PEAK=12600 LATE=12800 run compare
  [[ "$output" == *"| 12.30 to 12.50 | equal to a bound |"* ]]
  PEAK=12900 LATE=13000 run compare
  [[ "$output" == *"| 12.60 to 12.70 | +0.800 % |"* ]]
  PEAK=12800 LATE=12800 run compare
  [[ "$output" == *"| 12.50 | 12.50 | equal |"* ]]
}

@test "figures under the publisher's torch stand beside those under ours" {
  sed -i 's/"marker": "marker"/"marker": "marker", "torch": "2.6.0"/' published.json
  PEAK=12900 compare
  PEAK=12800 run python3 -S "$studies/programs/distributed_programs.py" run published.json "$PWD/headroom" py checkout 2.6.0 ours.json
  printf '%s' "$output" >older.json
  run python3 -S "$studies/programs/distributed_programs.py" table published.json older.json
  [[ "$output" == *"| figure | published | torch 2.6.0 | difference | torch 2.11 | difference |"* ]]
  [[ "$output" == *"| peak, GiB | 12.50 | 12.50 | equal | 12.60 | +0.800 % |"* ]]
}

@test "under another torch a command may have other words" {
  sed -i 's/"words": /"older_words": ["other"], &/' published.json
  compare
  run python3 -S "$studies/programs/distributed_programs.py" run published.json "$PWD/headroom" py checkout 2.6.0 ours.json
  [ "$status" -ne 0 ]
  [[ "$output" == *"-- py other"* ]]
}

@test "a figure that was not printed, and a program that failed, are errors that say which" {
  PEAK=none run compare
  [ "$status" -ne 0 ]
  [[ "$output" == *"peak: nothing like"* ]]
  CHECKOUT=elsewhere run compare
  [ "$status" -ne 0 ]
  [[ "$output" == *"not dryrun --card h200 --events done"* ]]
}

@test "a folder that is nobody's checkout is refused before anything runs" {
  HEADROOM_BIN=/bin/true run "$studies/programs/compare_distributed_programs.sh" --output-dir "$PWD/out" "$PWD"
  [ "$status" -eq 2 ]
  [[ "$output" == *"is no checkout of any of these"* ]]
  HEADROOM_BIN=/bin/true run "$studies/megatron/compare_distributed.sh" --output-dir "$PWD/out" "$PWD"
  [ "$status" -eq 2 ]
  [[ "$output" == *"pretrain_gpt.py is missing"* ]]
}

write_case() {
  local folder=megatron/tests/functional_tests/test_cases/gpt/one
  mkdir -p "$folder"
  cat >"$folder/model_config.yaml" <<'YAML'
ENV_VARS:
  NCCL_ALGO: Ring
MODEL_ARGS:
  --num-layers: 12
  --tensor-model-parallel-size: 2
  --bf16: true
  --data-path: ${DATA_PATH}/text
  --tensorboard-dir: ${TENSORBOARD_PATH}
  --dist-ckpt-strictness: log_all # for TE
TEST_TYPE: regular
YAML
  printf '{"mem-allocated-bytes": {"values": {"1": 10, "50": %d}}, "mem-max-allocated-bytes": {"values": {"1": 90, "50": %d}}}' \
    "$1" "$2" >"$folder/golden_values_$3.json"
}

@test "a case of Megatron-LM is run with its own flags but for the data" {
  write_case 20 100 dev_dgx_a100
  run python3 -IS "$studies/megatron/megatron_case.py" arguments megatron gpt/one /scratch
  [ "${lines[*]}" = "--num-layers 12 --tensor-model-parallel-size 2 --bf16 --tensorboard-dir /scratch/tensorboard-dir --dist-ckpt-strictness log_all --mock-data --tokenizer-type NullTokenizer --vocab-size 50256 --exit-interval 4" ]
  run python3 -IS "$studies/megatron/megatron_case.py" ranks megatron gpt/one
  [ "$output" = 0,6,7 ]
  run python3 -IS "$studies/megatron/megatron_case.py" settings megatron gpt/one
  [ "$output" = NCCL_ALGO=Ring ]
  run python3 -IS "$studies/megatron/megatron_case.py" events megatron gpt/one
  [ "$output" = "done" ]
  sed -i 's/--bf16: true/--pipeline-model-parallel-size: 4/' megatron/tests/functional_tests/test_cases/gpt/one/model_config.yaml
  run python3 -IS "$studies/megatron/megatron_case.py" events megatron gpt/one
  [ "$output" = "done late" ]
}

@test "the nearest of several published and several own runs is compared, of one kind of card" {
  write_case 20 100 dev_dgx_a100
  write_case 24 120 lts_dgxa100_somewhere
  write_case 20 500 dev_dgx_h100
  write_case 20 7 dev_dgx_a100_2nd
  python3 -IS "$studies/megatron/megatron_case.py" published megatron gpt/one >cases.json
  printf '{"source": "s", "cases": %s}' "$(<cases.json)" >golden.json
  run_of() { printf '{"case": "gpt/one", "card": "a100-80gb", "apex": "none", "first_peak": 90, "peak": %d, "first_allocated": 10, "allocated": %d}' "$1" "$2"; }
  printf '{"command": "c", "versions": "v", "runs": [%s, %s]}' "$(run_of 130 24)" "$(run_of 110 26)" >runs.json
  run python3 -IS "$studies/megatron/distributed_table.py" golden.json runs.json
  [ "$status" -eq 0 ]
  [[ "$output" == *"| one | A100 | 2 | 100 to 120 | 110 to 130 | +10 (+8.333 %) | 20 to 24 | 24 to 26 | equal | none |"* ]]
  [[ "$output" == *"1 are equal to the byte"* ]]
}
