#!/usr/bin/env bats
# scripts/fit_cards.sh, against a stand-in for the headroom program.

setup() {
  fit_cards=$BATS_TEST_DIRNAME/../../scripts/fit_cards.sh
  export HEADROOM_BIN=$BATS_TEST_DIRNAME/stubs/stub_headroom
  export STUB_LOG=$BATS_TEST_TMPDIR/cells
  export OUTPUT_DIR=$BATS_TEST_TMPDIR/out DEVICE=virtual:h200
  unset MODEL_SIZE CONTEXTS STUB_FIT
}

outputs() { (cd "$OUTPUT_DIR" && find . -maxdepth 1 -type f -printf '%f\n' | LC_ALL=C sort | tr '\n' ' '); }

@test "each question has a document, tables and a drawing, and a line of the short table" {
  run "$fit_cards"
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(outputs)" = "fit_2.7B.json fit_2.7B.md fit_2.7B.svg fit_7b.json fit_7b.md fit_7b.svg fit_7b_disk.json fit_7b_disk.md fit_7b_disk.svg fit_short.md guide_7b.json " ]
  grep -qx '| 2.7B, batch 4, context 512 | rtx4090 | adam8bit | 2.00 | 1.00 | 0.50 | 0.00 |' "$OUTPUT_DIR/fit_short.md"
  grep -qx '| 7b, batch 1, context 2048 | a100-40gb | adam8bit | 2.00 | 1.00 | 0.50 | 0.00 |' "$OUTPUT_DIR/fit_short.md"
  grep -qx "| 7b, batch 16 in 16 parts, context 2048 | rtx4090 | a guide's: BF16 weights, adam8bit, checkpoint full, sdpa attention | 30.00 | -6.50 | 0.00 | 0.00 |" \
    "$OUTPUT_DIR/fit_short.md"
  [ "$(grep -c -- "--records $OUTPUT_DIR/cells/fit.jsonl" "$STUB_LOG.fit")" -eq 6 ]
  grep -qx '| 7b, batch 1, context 2048, a host of 32 GiB and a disk | rtx4090 | adam8bit | 2.00 | 1.00 | 0.50 | 0.00 |' \
    "$OUTPUT_DIR/fit_short.md"
}

@test "that nothing fits is an answer with what is short" {
  STUB_FIT=4 run "$fit_cards"
  echo "$output"
  [ "$status" -eq 0 ]
  grep -qx '| 2.7B, batch 4, context 512 | rtx4090 | none; least needs adam8bit | 3.00 | -1.00 | 0.50 | 0.00 |' \
    "$OUTPUT_DIR/fit_short.md"
}

@test "a short table that cannot be made is named, and nobody looks for it" {
  mkdir "$BATS_TEST_TMPDIR/bin"
  printf '#!/bin/sh\ncase "$*" in *fit_table.py*) exit 1 ;; esac\nexec %s "$@"\n' "$(command -v python3)" \
    >"$BATS_TEST_TMPDIR/bin/python3"
  chmod +x "$BATS_TEST_TMPDIR/bin/python3"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH run "$fit_cards"
  echo "$output"
  [ "$status" -eq 3 ]
  [[ "$output" == *"fit_short.md (exit 1)"* ]]
  [[ "$output" != *"No such file"* ]]
}

@test "a size that is asked for is the only one, a failure is named, an interrupt ends it" {
  run "$fit_cards" --model-size small --contexts 128,256
  [ "$status" -eq 0 ]
  [ "$(outputs)" = "fit_short.md fit_small.json fit_small.md fit_small.svg " ]
  grep -q 'small --batch-size 4 --context-length 256 --card rtx4090' "$STUB_LOG.fit"
  STUB_FIT=5 run "$fit_cards"
  [ "$status" -eq 3 ]
  [[ "$output" == *"fit_2.7B.json (exit 5); fit_7b.json (exit 5); fit_7b_disk.json (exit 5)"* ]]
  STUB_FIT=130 run "$fit_cards"
  [ "$status" -eq 130 ]
}

@test "with the CPU it is left out" {
  DEVICE=cpu run "$fit_cards"
  [ "$status" -eq 0 ]
  [ "$(outputs)" = "" ]
}
