#!/usr/bin/env bats
# What a build is called: two builds of different sources must never share a name, or a resumed sweep
# takes the old one's rows for the new one's. HEADROOM_BUILD_DIR names a built tree.

setup() {
  script=$BATS_TEST_DIRNAME/../../../cmake/build_revision.cmake
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree"/{train,docs}
  printf 'first\n' >"$tree/train/step.cpp"
  printf '\0binary\n' >"$tree/train/table.bin"
  export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
  git -C "$tree" init -q
  git -C "$tree" add .
  git -C "$tree" -c user.name=a -c user.email=a@b.c commit -qm first
}

# revision [SETTINGS]: the name of the tree as it is now.
revision() {
  cmake -DSOURCE_DIR="$tree" -DSETTINGS="${1:-Release}" -DOUTPUT="$BATS_TEST_TMPDIR/revision.cpp" -P "$script" &&
    sed -n 's/.*build_revision() { return R"text(\(.*\))text"; }/\1/p' "$BATS_TEST_TMPDIR/revision.cpp" | grep .
}

@test "a clean tree is called by its commit" {
  [ "$(revision)" = "$(git -C "$tree" rev-parse --short=12 HEAD)" ]
}

@test "the contents of a new source count, not only its name" {
  printf 'one\n' >"$tree/train/new.cpp"
  one=$(revision)
  printf 'two\n' >"$tree/train/new.cpp"
  two=$(revision)
  [[ "$one" == *+dirty-* ]]
  [ "$one" != "$two" ]
  printf 'one\n' >"$tree/train/new.cpp"
  [ "$(revision)" = "$one" ]
}

@test "the name of a new source counts" {
  printf 'one\n' >"$tree/train/new.cpp"
  one=$(revision)
  mv "$tree/train/new.cpp" "$tree/train/a name; with [signs].cpp"
  [ "$(revision)" != "$one" ]
}

@test "a changed source counts, binary ones too" {
  clean=$(revision)
  printf 'second\n' >"$tree/train/step.cpp"
  changed=$(revision)
  [ "$changed" != "$clean" ]
  printf '\0other1\n' >"$tree/train/table.bin"
  once=$(revision)
  printf '\0other2\n' >"$tree/train/table.bin"
  [ "$once" != "$changed" ] && [ "$(revision)" != "$once" ]
}

@test "a new result or document is no new build" {
  clean=$(revision)
  printf 'text\n' >"$tree/docs/new.md"
  [ "$(revision)" = "$clean" ]
}

@test "without git the sources themselves are the name" {
  rm -rf "$tree/.git"
  export GIT_CEILING_DIRECTORIES=$BATS_TEST_TMPDIR
  one=$(revision)
  printf 'second\n' >"$tree/train/step.cpp"
  [[ "$one" == unknown+* ]] && [ "$(revision)" != "$one" ]
}

@test "the settings of the build are kept beside it" {
  revision 'Debug, GNU 12.2.0, sanitizers' >/dev/null
  grep -q 'build_settings() { return R"text(Debug, GNU 12.2.0, sanitizers)text"; }' "$BATS_TEST_TMPDIR/revision.cpp"
}

@test "every file that the cell is built from is among the sources that are looked at" {
  [ -n "${HEADROOM_BUILD_DIR:-}" ] || skip "HEADROOM_BUILD_DIR is not set"
  top=$(realpath "$BATS_TEST_DIRNAME/../../..")
  sources=" $(sed -n 's/^set(sources \(.*\))$/\1/p' "$script") "
  grep -q . <<<"${sources// /}"
  all=$(ninja -C "$HEADROOM_BUILD_DIR" -t inputs bin/headroom-cell lib/libvirtual_gpu.so | grep -v "^ninja: ")
  # A unit stands for the files that it includes.
  units=$(cd "$HEADROOM_BUILD_DIR" && grep '/Unity/.*cxx$' <<<"$all" | xargs -r sed -n 's/^#include "\(.*\)"$/\1/p')
  inputs=$(printf '%s\n' "$all" "$units" | grep "^$top/" | sort -u |
    grep -v "^$HEADROOM_BUILD_DIR/" | grep -v "^$top/\.")
  [ "$(wc -l <<<"$inputs")" -gt 50 ]
  while read -r file; do
    room=${file#"$top/"}
    [[ "$sources" == *" ${room%%/*} "* ]] || { echo "not looked at: $file" && false; }
  done <<<"$inputs"
}
