#!/usr/bin/env bats
# check_docs.py finds what leads nowhere, and nothing else.
# shellcheck disable=SC2016 # Markdown's code spans

setup() {
  check="python3 $BATS_TEST_DIRNAME/check_docs.py"
  root=$BATS_TEST_TMPDIR
  mkdir -p "$root/train" "$root/docs" "$root/tests"
  : >"$root/train/step.cpp"
  printf 'add(layers unit)\n' >"$root/tests/CMakeLists.txt"
  printf '# Words, and more\n' >"$root/docs/page.md"
}

accepts() {
  printf '%b\n' "$1" >"$root/README.md"
  run $check "$root"
  echo "$output"
  [ "$status" -eq 0 ]
}

refuses() {
  printf '%b\n' "$1" >"$root/README.md"
  run $check "$root"
  echo "$output"
  [ "$status" -eq 1 ] && [[ "$output" == *"$2"* ]]
}

@test "links, headings, paths with and without an ending, patterns and tests that are there" {
  accepts '[a](docs/page.md) [b](docs/page.md#words-and-more) [c](https://example.org/x)'
  accepts '`train/step.cpp` `train/step` `train/` `train/s*.cpp` `./train/step.cpp` CTest `layers`'
  accepts '`train/step.cpp now` `made/up` `results/mine/x.md`'
}

@test "a link, a heading, a path or a test that is not there is named with its line" {
  refuses 'x\n[a](docs/none.md)' 'README.md:2: the link docs/none.md leads nowhere'
  refuses '[a](docs/page.md#none)' 'names no heading'
  refuses '[Note [a]](docs/none.h)' 'the link docs/none.h leads nowhere'
  refuses '[a](../outside.md)' 'leads'
  refuses '`train/none.cpp`' "'train/none.cpp' is not in the tree"
  refuses '`train/n*.cpp`' 'is not in the tree'
  refuses 'CTest `nothing`' "there is no CTest 'nothing'"
  refuses '```bash\n./train/none.sh --flag\n```' "'./train/none.sh' is not in the tree"
}

@test "what a program printed is not searched for paths" {
  accepts '<!-- output: x -->\n```console\ntrain/none.cpp:3\n```\n<!-- end -->'
}

@test "a page of docs/ is looked at from where it lies" {
  printf '[up](../train/step.cpp)\n' >"$root/docs/page.md"
  accepts x
  printf '[up](train/step.cpp)\n' >"$root/docs/page.md"
  refuses x 'docs/page.md:1: the link train/step.cpp leads nowhere'
}

@test "a README of more than 100 lines is too long" {
  accepts "$(seq 100)"
  refuses "$(seq 101)" '101 lines'
}
