#!/usr/bin/env bats
# studies/host/with_allocator.sh with a stand-in for ldconfig, and studies/host/compare_allocators.sh with a
# stand-in for the headroom program.
# shellcheck disable=SC2016 # words for another shell, and Markdown

setup() {
  studies=$BATS_TEST_DIRNAME/../../studies
  unset LD_PRELOAD MALLOC_CONF MALLOC_ARENA_MAX
  any=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p | awk '/libm\.so\.6 / { print $NF; exit }')
  mkdir "$BATS_TEST_TMPDIR/bin"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# installed LIBRARY...: what ldconfig knows, each a library that does nothing.
installed() {
  local library
  printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/bin/ldconfig"
  for library; do
    cp "$any" "$BATS_TEST_TMPDIR/$library"
    printf 'echo "\t%s (libc6,x86-64) => %s"\n' "$library" "$BATS_TEST_TMPDIR/$library" >>"$BATS_TEST_TMPDIR/bin/ldconfig"
  done
  chmod +x "$BATS_TEST_TMPDIR/bin/ldconfig"
}

preloaded() { run "$studies/host/with_allocator.sh" "$1" sh -c 'echo "$LD_PRELOAD"'; }

@test "each word puts its library in front, and glibc none" {
  installed libjemalloc.so.2 libtcmalloc_minimal.so.4 libtcmalloc.so.4
  preloaded jemalloc
  [ "$output" = "$BATS_TEST_TMPDIR/libjemalloc.so.2" ]
  preloaded tcmalloc
  [ "$output" = "$BATS_TEST_TMPDIR/libtcmalloc.so.4" ]
  preloaded glibc
  [ "$output" = "" ]
}

@test "the smaller tcmalloc will do" {
  installed libtcmalloc_minimal.so.4
  preloaded tcmalloc
  [ "$output" = "$BATS_TEST_TMPDIR/libtcmalloc_minimal.so.4" ]
}

@test "what is preloaded already stays, behind it" {
  installed libjemalloc.so.2 libother.so
  LD_PRELOAD=$BATS_TEST_TMPDIR/libother.so preloaded jemalloc
  [ "$output" = "$BATS_TEST_TMPDIR/libjemalloc.so.2:$BATS_TEST_TMPDIR/libother.so" ]
}

@test "the command's words and exit code are its own" {
  run "$studies/host/with_allocator.sh" glibc sh -c 'echo "$# $2"; exit 7' sh 'a b' 'c d'
  [ "$status" -eq 7 ]
  [ "$output" = "2 c d" ]
}

@test "a package that is not installed is named in one line, and nothing runs" {
  installed
  for case in jemalloc:libjemalloc2 tcmalloc:libgoogle-perftools4; do
    run "$studies/host/with_allocator.sh" "${case%:*}" touch "$BATS_TEST_TMPDIR/ran"
    [ "$status" -eq 5 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == *"${case%:*} is not installed"*"package ${case#*:}"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
  done
}

@test "an unknown word, no word and no command are refused with what is allowed and an example" {
  for words in 'mimalloc true' '' jemalloc; do
    # shellcheck disable=SC2086 # words
    run "$studies/host/with_allocator.sh" $words
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == *"example: with_allocator.sh jemalloc"* ]]
  done
  run "$studies/host/with_allocator.sh" mimalloc true
  [[ "$output" == *"'mimalloc' is no allocator (allowed: glibc, jemalloc, tcmalloc;"* ]]
}

# A Record whose figures follow the allocator that is preloaded.
stand_in() {
  export HEADROOM_BIN=$BATS_TEST_TMPDIR/headroom
  cat >"$HEADROOM_BIN" <<'STUB'
#!/usr/bin/env python3
import json, os, sys
preload = os.environ.get("LD_PRELOAD", "")
name = next((word for word in ("jemalloc", "tcmalloc") if word in preload), "glibc")
peak, end, ms = {"glibc": (1000, 800, 10.0), "jemalloc": (800, 400, 10.2), "tcmalloc": (1010, 900, 12.0)}[name]
status = "ok"
if os.environ.get("STUB_FAIL") == name:
    status = "killed"
if "background_thread" in os.environ.get("MALLOC_CONF", ""):
    end = 100
words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
print(json.dumps({"status": status, "reason": "by signal 9" if status != "ok" else "",
    "environment": {"cell": {"max_rss_bytes": peak << 20, "end_rss_bytes": end << 20}},
    "step_ms": [ms] * int(words["--measure-steps"]),
    "spec": {"layers": 4, "d_model": 256, "batch_size": 2, "context_length": 128}}, indent=1))
sys.exit(status != "ok" and 4)
STUB
  chmod +x "$HEADROOM_BIN"
  installed libjemalloc.so.2 libtcmalloc.so.4
}

@test "the table has every allocator and setting, and says whether the advice holds" {
  stand_in
  ROUNDS=2 STEPS=3 run "$studies/host/compare_allocators.sh" --output-dir "$BATS_TEST_TMPDIR/out"
  echo "$output"
  [ "$status" -eq 0 ]
  table=$(<"$BATS_TEST_TMPDIR/out/allocators.md")
  [[ "$table" == *"| glibc |  | 1000.0 | +0.0 % | 800.0 | 10.0 | 10.0 to 10.0 |"* ]]
  [[ "$table" == *"| jemalloc |  | 800.0 | -20.0 % | 400.0 | 10.2 | 10.2 to 10.2 |"* ]]
  [[ "$table" == *'| jemalloc | `MALLOC_CONF=background_thread:true,dirty_decay_ms:0` | 800.0 | -20.0 % | 100.0 |'* ]]
  [[ "$table" == *"the advice helps here with jemalloc. With jemalloc, the peak is 20 % below glibc's"* ]]
  [[ "$table" == *"With tcmalloc, the peak is within 5 % of glibc's, the memory left at the end is 12 % above glibc's, and the step is 20 % above glibc's."* ]]
  [ "$(wc -l <"$BATS_TEST_TMPDIR/out/allocators.jsonl")" -eq 10 ]
  [ "$(sed -n 2p "$BATS_TEST_TMPDIR/out/allocators.csv")" = "glibc,,1048576000,838860800,10.0,10.0,10.0,ok" ]
}

@test "the rounds are interleaved" {
  stand_in
  ROUNDS=2 STEPS=1 run "$studies/host/compare_allocators.sh" --output-dir "$BATS_TEST_TMPDIR/out"
  [ "$(grep -c '^round 1' <<<"$output")" -eq 5 ]
  [ "$(grep '^round' <<<"$output" | sed -n 6p)" = "round 2: glibc" ]
}

@test "a run that fails is a row and exit 3, and no verdict is given" {
  stand_in
  STUB_FAIL=tcmalloc ROUNDS=1 STEPS=1 run "$studies/host/compare_allocators.sh" --output-dir "$BATS_TEST_TMPDIR/out"
  [ "$status" -eq 3 ]
  table=$(<"$BATS_TEST_TMPDIR/out/allocators.md")
  [[ "$table" == *"| tcmalloc |  | killed: by signal 9 |"* ]]
  [[ "$table" == *"A run failed: no verdict on the advice."* ]]
}

@test "an allocator that is not installed stops it before anything runs" {
  stand_in
  installed libjemalloc.so.2
  run "$studies/host/compare_allocators.sh" --output-dir "$BATS_TEST_TMPDIR/out"
  [ "$status" -eq 5 ]
  [[ "$output" == *"tcmalloc is not installed"* ]]
  [ ! -e "$BATS_TEST_TMPDIR/out/allocators.md" ]
}

@test "the committed table is the one of the committed Records" {
  records=$BATS_TEST_DIRNAME/../../results/cpu/allocators.jsonl
  [ -e "$records" ] || skip "not measured here yet: studies/host/compare_allocators.sh"
  python3 -IS "$studies/host/allocator_table.py" md <"$records" | diff - "${records%.jsonl}.md"
  python3 -IS "$studies/host/allocator_table.py" csv <"$records" | diff - "${records%.jsonl}.csv"
}
