#!/usr/bin/env bats
# The README's tables are what the committed results print.

setup() {
  update=$BATS_TEST_DIRNAME/../../scripts/update_readme.sh
  readme=$BATS_TEST_TMPDIR/README.md
  mkdir -p "$BATS_TEST_TMPDIR/results/cpu"
  printf '| a |\n|---|\n| 1 |\n' >"$BATS_TEST_TMPDIR/results/cpu/t.md"
  printf 'before\n<!-- table: cpu/t.md -->\nold\n<!-- end -->\nafter\n' >"$readme"
}

@test "this README equals the committed results" {
  run "$update" --check
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a table is filled in once and for all, and the rest is left alone" {
  run "$update" "$readme"
  [ "$status" -eq 0 ]
  wanted=$'before\n<!-- table: cpu/t.md -->\n\n| a |\n|---|\n| 1 |\n\n<!-- end -->\nafter'
  [ "$(<"$readme")" = "$wanted" ]
  run "$update" "$readme"
  [ "$(<"$readme")" = "$wanted" ]
  run "$update" --check "$readme"
  [ "$status" -eq 0 ] && [ -z "$output" ]
}

@test "a typed number is found, and --check changes nothing" {
  run "$update" "$readme"
  sed -i 's/| 1 |/| 2 |/' "$readme"
  before=$(<"$readme")
  run "$update" --check "$readme"
  [ "$status" -eq 1 ]
  [[ "$output" == *"-| 2 |"*"+| 1 |"* ]]
  [ "$(<"$readme")" = "$before" ]
}

@test "missing results, an open table and a stray end are errors, and the file is left alone" {
  for text in '<!-- table: cpu/none.md -->\n<!-- end -->' '<!-- table: cpu/t.md -->\n' '<!-- end -->\n' \
    '<!-- table: cpu/t.md -->\n<!-- table: cpu/t.md -->\n<!-- end -->\n'; do
    printf '%b' "$text" | tee "$readme.before" >"$readme"
    run "$update" "$readme"
    echo "$output"
    [ "$status" -eq 5 ] && [ "${#lines[@]}" -eq 1 ]
    cmp "$readme" "$readme.before"
  done
}
