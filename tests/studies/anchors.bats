#!/usr/bin/env bats
# The comparison with published figures, over a program that answers with a fixed table.

setup() {
  compare=$BATS_TEST_DIRNAME/../../studies/published/compare_anchors.sh
  anchors=$BATS_TEST_TMPDIR/anchors.json
  export HEADROOM_BIN=$BATS_TEST_TMPDIR/headroom
  cat >"$HEADROOM_BIN" <<'STUB'
#!/usr/bin/env bash
# budget LAYERS INPUT: two rows, and blocks of 100 bytes of the input.
[[ $1 == budget ]] || { echo "headroom: no $1" >&2; exit 2; }
input=${3%GiB}
printf '[{"title": "Other"}, {"title": "Where it goes", "rows": [
  {"line": "a", "bytes": %d}, {"line": "b", "bytes": 1073741824}, {"line": "c", "bytes": "%s"}]}]' \
  "$((1610612736 * $2))" "${input/./,}"
STUB
  chmod +x "$HEADROOM_BIN"
}

# write_anchors PUBLISHED UNIT ROWS WITHIN [MORE]
write_anchors() {
  cat >"$anchors" <<JSON
{"note": "n", "kinds": {"k": {"title": "K"}}, "shapes": {"one": ["1"]}, "sources": {"s": "somewhere"},
 "anchors": [{"kind": "k", "what": "it", "published": $1, "unit": "$2", "command": ["budget", "@one", "{input}GiB"],
   "value": {"table": "Where", "rows": $3, "column": "bytes"}, "source": "s", "within": $4 ${5:-}}]}
JSON
}

run_compare() { run "$compare" --output-dir "$BATS_TEST_TMPDIR/out" "$anchors"; }

@test "named rows are summed, and equal in the printed digits is exact" {
  write_anchors 2.50 GiB '["a", "b"]' 0
  run_compare
  [ "$status" -eq 0 ]
  [[ "$(<"$BATS_TEST_TMPDIR/out/anchors.md")" == *"| it | 2.50 | 2.50 | 0 | exact | [1] |"* ]]
}

@test "a figure that moved by one printed digit is an error, named, and the table is still written" {
  write_anchors 2.51 GiB '["a", "b"]' 0
  run_compare
  [ "$status" -eq 1 ]
  [[ "$output" == *"it: published 2.51, ours 2.50, allowed exact"* ]]
  [[ "$(<"$BATS_TEST_TMPDIR/out/anchors.md")" == *"| it | 2.51 | 2.50 | -0.40 % | exact | [1] |"* ]]
}

@test "a fraction is a bound on both sides; null bounds nothing" {
  write_anchors 2.45 GiB '["a", "b"]' 0.03
  run_compare
  [ "$status" -eq 0 ]
  write_anchors 2.45 GiB '["a", "b"]' 0.02
  run_compare
  [ "$status" -eq 1 ]
  write_anchors 9.99 GiB '["a", "b"]' null
  run_compare
  [ "$status" -eq 0 ]
}

@test "the window is what the input's rounding leaves" {
  more=', "input": "58.11", "input_rounding": "0.02"'
  write_anchors 5813 blocks '["c"]' '"window"' "$more"
  run_compare
  [ "$status" -eq 0 ]
  [[ "$output" == *"| it | 5,813 | 5,811 | -2 | 5,809 to 5,813 | [1] |"* ]]
  write_anchors 5814 blocks '["c"]' '"window"' "$more"
  run_compare
  [ "$status" -eq 1 ]
}

@test "--check finds a table that was typed" {
  write_anchors 2.50 GiB '["a", "b"]' 0
  run_compare
  table=$BATS_TEST_TMPDIR/out/anchors.md
  check=(python3 -IS "$BATS_TEST_DIRNAME/../../studies/published/anchor_table.py" "$anchors" "$HEADROOM_BIN" --check "$table")
  run "${check[@]}"
  [ "$status" -eq 0 ] && [ -z "$output" ]
  sed -i 's/2\.50/2.51/' "$table"
  run "${check[@]}"
  [ "$status" -eq 1 ]
  [[ "$output" == *"is not what is computed now"* ]]
}

@test "a command that fails is an error, and the old table stays" {
  mkdir -p "$BATS_TEST_TMPDIR/out" && echo old >"$BATS_TEST_TMPDIR/out/anchors.md"
  write_anchors 2.50 GiB '["a", "b"]' 0
  sed -i 's/"budget"/"bugdet"/' "$anchors"
  run_compare
  [ "$status" -eq 5 ]
  [[ "$output" == *"it: headroom bugdet 1 "*"no bugdet"* ]]
  [ "$(<"$BATS_TEST_TMPDIR/out/anchors.md")" = old ]
  [ ! -e "$BATS_TEST_TMPDIR/out/anchors.md.partial" ]
}

@test "bad usage runs nothing" {
  run "$compare" --frobnicate
  [ "$status" -eq 2 ]
  run "$compare" "$BATS_TEST_TMPDIR/missing.json"
  [ "$status" -eq 2 ]
  write_anchors 2.50 GiB '["a", "b"]' 0
  HEADROOM_BIN=/nonexistent/headroom run_compare
  [ "$status" -eq 5 ]
}
