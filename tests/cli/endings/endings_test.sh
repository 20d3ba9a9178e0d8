#!/usr/bin/env bash
# How runs of the real program over a stub cell end: exit codes, tables, signals, outputs that cannot be written.
# Usage: endings_test.sh HEADROOM STUB_CELL
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

begin "$1" "$2"

small=(--model-size small)

# Help and version go to stdout and tell the exit codes.
for words in --help 'profile --help' 'sweep --help' 'table --help' 'budget --help'; do
  # shellcheck disable=SC2086  # words is split on purpose
  expect 0 '' $words
  grep -q 'Exit codes: 0 ok; 1 --max-peak .*; 2 usage; 3 some cells failed;' out || fail "no exit codes: $words"
done
expect 0 '' help sweep
cp out help
expect 0 '' sweep --help
cmp -s out help || fail 'headroom help sweep is not headroom sweep --help'
expect 2 "command: 'swep' is unknown.*did you mean sweep" help swep
expect 0 '' --version
grep -qE '^commit ([0-9a-f]{12}|unknown)' out || fail 'no commit'
grep -qE '^libtorch 2\.[0-9]+\.[0-9]+, CUDA 1[0-9]\.' out || fail 'no versions of libtorch and CUDA'

# How a run ends.
expect 0 '' profile "${small[@]}"
grep -q '128,625,408' out || fail 'the report lacks the parameter count'
grep -q 'to the byte' out || fail 'the categories do not sum to the peak'
expect 4 'oom: tried to allocate' profile "${small[@]}" --context-length 1024
grep -q 'oom' out || fail 'the report does not say oom'
expect 4 'killed: killed by signal 6' profile "${small[@]}" --batch-size 13
expect 5 'no CUDA device' profile "${small[@]}" --device cuda
expect 5 'headroom: unsupported: no CUDA device' sweep "${small[@]}" --device cuda --context-length 128,256
expect 3 '' sweep "${small[@]}" --device cuda,cpu
HEADROOM_CELL=/nonexistent/cell expect 5 'cannot run /nonexistent/cell' profile "${small[@]}"
HEADROOM_CELL=/nonexistent/cell expect 5 'cannot run /nonexistent/cell' sweep "${small[@]}"
# libtorch moved: what the dynamic loader says then.
# shellcheck disable=SC2016 # the script expands it
printf '#!/bin/sh\necho "$0: error while loading shared libraries: libtorch.so: cannot open shared object file" >&2\nexit 127\n' >moved
chmod +x moved
for command in profile sweep; do
  HEADROOM_CELL=$PWD/moved expect 5 'cannot start: .*libtorch.so.*; libtorch has moved since headroom was built' $command "${small[@]}"
done
expect 0 '' profile "${small[@]}" --use-mixed-precision --dtype fp16 --profile-type training --format json
[[ $(wc -l <out) -eq 1 ]] || fail '--format json is not one line'
python3 -c 'import json; r = json.load(open("out")); assert r["spec"]["precision"] == "fp16", r' ||
  fail '--format json is not the Record'

# A grid.
expect 0 '' sweep --model-size small,medium --context-length 128,256 --dry-run
[[ $(wc -l <out) -eq 4 ]] || fail 'dry-run did not print four cells'
expect 0 '' sweep --model-size small,medium --context-length 128,256 --dry-run --format json
python3 -c 'import json; cells = json.load(open("out"))
assert [(c["name"], c["spec"]["context_length"]) for c in cells][3] == ("medium_ctx256_forward_fp32", 256), cells' ||
  fail '--dry-run --format json is not JSON'
expect 0 '' sweep --model-size small,medium --context-length 128,256 --dry-run --format jsonl
python3 -c 'import json; assert len([json.loads(line) for line in open("out")]) == 4' ||
  fail '--dry-run --format jsonl is not JSON lines'
expect 0 '' sweep --model-size small,medium --context-length 128,256 --dry-run --format csv
python3 -c 'import csv; assert [r["context_length"] for r in csv.DictReader(open("out"))] == ["128", "256"] * 2' ||
  fail '--dry-run --format csv lacks the settings'
expect 3 '\[3/3\] small_ctx1024' sweep "${small[@]}" --context-length 128,256,1024 --records r.jsonl
grep -qE '1024 +forward +oom +oom +oom' out || fail 'the row that ran out of memory is not in the table'
grep -q nan out && fail 'NaN in a table'
expect 3 '' sweep "${small[@]}" --context-length 128,256,1024 --records r.jsonl
[[ $(wc -l <r.jsonl) -eq 3 ]] || fail 'a resumed sweep ran cells again'
expect 4 '' sweep "${small[@]}" --context-length 1024
expect 0 '' sweep "${small[@]}" --context-length 128 --format json
python3 -c 'import json; assert len(json.load(open("out"))) == 1' || fail 'sweep --format json is no array'
expect 0 '' sweep "${small[@]}" --context-length 128,256 --profile-type forward,training \
  --precision fp32,bf16 --records all.jsonl

# A deadline, and a signal in the middle: what there is, is kept and shown.
expect 4 'timeout: killed after its deadline' profile "${small[@]}" --batch-size 14 --deadline 0.2
"$program" sweep "${small[@]}" --batch-size 4,14 --records i.jsonl >out 2>err &
pid=$!
for ((i = 0; i < 2400; i++)); do
  [[ -s i.jsonl ]] && break
  sleep 0.05
done
kill -TERM "$pid" # a script's background job is deaf to INT
wait "$pid"
[[ $? -eq 130 ]] || fail 'an interrupted sweep did not exit 130'
[[ $(wc -l <i.jsonl) -eq 1 ]] || fail 'an interrupted sweep lost or invented rows'
grep -q 'Summary' out || fail 'an interrupted sweep printed no table'
grep -q 'interrupted: 1 of 2 cells are done; the same command runs the others' err ||
  fail 'an interrupted sweep does not say what is left'

# Tables again.
for kind in peak-memory mixed-precision summary; do
  for format in text csv md json; do
    expect 0 '' table $kind all.jsonl r.jsonl --format $format
    grep -qi 'nan' out && fail "NaN in $kind $format"
    [[ -s out ]] || fail "nothing printed: $kind $format"
  done
  python3 -c 'import json; json.load(open("out"))' || fail "$kind json does not parse"
done
expect 2 "'peak-memry' is unknown.*did you mean peak-memory" table peak-memry all.jsonl
expect 2 'table: needs a kind' table summary
expect 2 'cannot read missing.jsonl' table summary missing.jsonl
printf 'not json\n' >bad.jsonl
expect 2 'bad.jsonl:1: ' table summary bad.jsonl
: >empty.jsonl
expect 2 'no Records in empty.jsonl' table summary empty.jsonl
{ cat r.jsonl; head -c 100 r.jsonl; } >torn.jsonl
expect 0 'torn.jsonl: line [0-9]* is torn' table summary torn.jsonl
{ cat r.jsonl; echo '# a note'; cat r.jsonl; head -c 4096 /dev/zero; } >damaged.jsonl
expect 0 'damaged.jsonl: line [0-9]* is no JSON and is passed over' table summary damaged.jsonl
expect 0 'damaged.jsonl: line [0-9]* is NULs only and is passed over' table summary damaged.jsonl
# No memory is worth a device that never ends a line; a disk that fails is no end of file.
for endless in /dev/zero /dev/full; do
  (ulimit -v 1000000 && "$program" table summary $endless) >out 2>err
  [[ $? -eq 5 ]] || fail "$endless as Records did not give exit 5"
  grep -q 'line 1 has no end' err || fail "$endless was not named"
done
expect 5 'cannot read /proc/self/mem: Input/output error' table summary /proc/self/mem
expect 2 'cannot read .*: Is a directory' table summary .

# Outputs that cannot be written: known before the run, and nothing half-written.
expect 5 'cannot write no/such/x.pickle: No such file' profile "${small[@]}" --output no/such/x.pickle
expect 5 'cannot write' table summary r.jsonl --output no/such/table.txt
printf old >old.txt
expect 5 'cannot write /dev/full: No space left' table summary r.jsonl --output /dev/full
[[ -c /dev/full ]] || fail '/dev/full was replaced'
(ulimit -f 1 && "$program" table summary all.jsonl --format json --output old.txt) 2>err
[[ $? -eq 5 ]] || fail 'a file that cannot grow did not give exit 5'
(ulimit -f 1 && "$program" table summary all.jsonl --format json >cut.txt) 2>err
[[ $? -eq 5 && $(grep -c 'cannot write to stdout: File too large' err) -eq 1 ]] || fail 'a stdout that cannot grow'
[[ $(cat old.txt) == old ]] || fail 'a failed write changed the old file'
compgen -G '*.tmp.*' >/dev/null && fail 'a temporary file was left behind'
expect 5 'cannot open|cannot write|records' sweep "${small[@]}" --records no/such/r.jsonl
expect 5 'snapshot-dir' sweep "${small[@]}" --snapshot-dir old.txt/sub
expect 0 '' table summary r.jsonl --output old.txt
grep -q Summary old.txt || fail '--output did not replace the file'

# stdout that fails, stdout that goes away.
for words in --help "profile --model-size small" "table summary r.jsonl"; do
  # shellcheck disable=SC2086
  "$program" $words >/dev/full 2>err
  [[ $? -eq 5 ]] || fail "stdout on a full disk did not give exit 5: $words"
  [[ $(grep -c 'headroom: cannot write to stdout: No space left' err) -eq 1 ]] || fail "no line: $words"
  # shellcheck disable=SC2086
  "$program" $words 2>err | true
  [[ ${PIPESTATUS[0]} -eq 0 && ! -s err ]] || fail "a closed pipe was not quiet: $words"
done

# A closed stdout must not be taken by the file that is opened next.
"$program" sweep "${small[@]}" --records c.jsonl >&- 2>err
[[ $? -eq 5 ]] || fail 'a closed stdout did not give exit 5'
[[ $(grep -c . c.jsonl) -eq 1 ]] || fail 'the table went into the Records'

finish
