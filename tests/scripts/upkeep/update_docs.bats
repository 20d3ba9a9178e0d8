#!/usr/bin/env bats
# README.md and docs/ show what the committed results say.

setup() {
  top=$BATS_TEST_DIRNAME/../../..
  update=$top/scripts/upkeep/update_docs.sh
  readme=$BATS_TEST_TMPDIR/README.md
  page=$BATS_TEST_TMPDIR/docs/page.md
  mkdir -p "$BATS_TEST_TMPDIR/results/cpu" "$BATS_TEST_TMPDIR/docs"
  printf '| a |\n|---|\n| 1 |\n' >"$BATS_TEST_TMPDIR/results/cpu/t.md"
  printf '$ count\n7\n' >"$BATS_TEST_TMPDIR/results/cpu/o.txt"
  printf 'before\n<!-- table: cpu/t.md -->\nold\n<!-- end -->\nafter\n' >"$readme"
  printf '<!-- output: cpu/o.txt -->\n<!-- end -->\n' >"$page"
}

@test "this README and these pages equal the committed results" {
  run "$update" --check
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the tables of published measurements are what their Records say" {
  cd "$top"
  for part in '' --peaks; do
    run diff -u "results/virtual/published${part/--/_}.md" \
      <(python3 -IS studies/published/published_table.py results/published/a800_cs336.json results/virtual/published.jsonl $part)
    echo "$output"
    [ "$status" -eq 0 ]
  done
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

@test "an output stands in a fence, also in a page one folder down" {
  run "$update" "$page"
  [ "$status" -eq 0 ]
  wanted=$'<!-- output: cpu/o.txt -->\n```console\n$ count\n7\n```\n<!-- end -->'
  [ "$(<"$page")" = "$wanted" ]
  run "$update" "$page" "$readme"
  [ "$status" -eq 0 ] && [ "$(<"$page")" = "$wanted" ]
}

@test "a typed number is found, and --check changes nothing" {
  run "$update" "$readme" "$page"
  sed -i 's/| 1 |/| 2 |/' "$readme"
  sed -i 's/^7$/8/' "$page"
  before=$(cat "$readme" "$page")
  run "$update" --check "$readme" "$page"
  [ "$status" -eq 1 ]
  [[ "$output" == *"-| 2 |"*"+| 1 |"*"-8"*"+7"* ]]
  [ "$(cat "$readme" "$page")" = "$before" ]
}

@test "missing results, an open block, a stray end and a fence are errors, and no file is touched" {
  printf 'x\n```\n' >"$BATS_TEST_TMPDIR/results/cpu/fence.txt"
  for text in '<!-- table: cpu/none.md -->\n<!-- end -->' '<!-- table: cpu/t.md -->\n' '<!-- end -->\n' \
    '<!-- output: cpu/fence.txt -->\n<!-- end -->\n' \
    '<!-- table: cpu/t.md -->\n<!-- output: cpu/o.txt -->\n<!-- end -->\n'; do
    printf '%b' "$text" | tee "$readme.before" >"$readme"
    cp "$page" "$page.before"
    run "$update" "$page" "$readme"
    echo "$output"
    [ "$status" -eq 5 ] && [ "${#lines[@]}" -eq 1 ]
    cmp "$readme" "$readme.before" && cmp "$page" "$page.before"
  done
}
