#!/usr/bin/env bash
# The files of every command: none destroys another, streams mean what they mean to other programs,
# and odd surroundings are one line.
# Usage: file_arguments_test.sh HEADROOM STUB_CELL
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

begin "$1" "$2"

# eventually COMMAND...: until it succeeds, or for a minute. A shell does not wait for >(command).
eventually() {
  local i
  for ((i = 0; i < 1200; i++)); do
    "$@" && return
    sleep 0.05
  done
  return 1
}

small=(--model-size small --device cpu)
expect 0 '' sweep "${small[@]}" --context-length 128,256 --records r.jsonl
printf '\1\0\2\0\3\0\4\0' >t.bin
cp r.jsonl r.before
cp t.bin t.before

# No file is both read and written, or written twice, however its path is spelled; the refusal comes before anything runs.
ln -s t.bin soft
ln t.bin hard
ln -s new.pickle dangling
ln -s . here
for name in t.bin ./t.bin soft hard here/t.bin "$PWD/t.bin"; do
  expect 2 "--snapshot: '.*' is the file that --tokens reads" profile "${small[@]}" --tokens t.bin --snapshot "$name"
  expect 2 "--save-weights: '.*' is the file that --tokens reads" profile "${small[@]}" --tokens "$name" --save-weights t.bin
done
expect 2 "--output: '.*' is the file that --tokens reads" profile "${small[@]}" --tokens t.bin --output t.bin
expect 2 "--snapshot: 'w' is the file that --load-weights reads" profile "${small[@]}" --load-weights w --snapshot w
for name in new.pickle ./new.pickle here/new.pickle dangling; do
  expect 2 "is the file that --(snapshot|save-weights) writes" profile "${small[@]}" --snapshot new.pickle --save-weights "$name"
done
expect 2 "--(json|snapshot): 'x' is the file that --(snapshot|json) writes" dryrun --card h200 --snapshot x --json x -- touch ran
echo 'echo hello' >script.sh
expect 2 "--json: 'script.sh' is the file that is read, ./script.sh" dryrun --card h200 --json script.sh -- sh ./script.sh
[[ ! -e ran ]] || fail 'the program ran'
expect 2 "--output: 'r.jsonl' is the file that is read, r.jsonl" table summary r.jsonl --output r.jsonl
expect 2 "--output: 'r.jsonl' is the file that is read" table summary other.jsonl ./r.jsonl --output r.jsonl
cp r.jsonl r.svg
expect 2 "--output: 'r.svg' is the file that --records reads" rlhf --records r.svg --output r.svg
expect 2 "is the file that --(records|tokens) (writes|reads)" sweep "${small[@]}" --tokens r.jsonl --records r.jsonl
name=small_ctx128_forward_fp32
mkdir cells
expect 2 "is the file that --snapshot writes" sweep "${small[@]}" --context-length 128 \
  --snapshot-dir cells --records "cells/${name}_snapshot.pickle"
echo '{"cards": []}' >cards.json
HEADROOM_CARDS=cards.json expect 2 "--output: 'cards.json' is the file that HEADROOM_CARDS reads" theory "${small[@]}" --output cards.json
# shellcheck disable=SC2094  # that is the fault
"$program" table summary r.jsonl >>r.jsonl 2>err
[[ $? -eq 2 ]] || fail 'stdout went into the file that was read'
grep -q "stdout is redirected into it" err || fail 'stdout in the file that is read is not named'
# shellcheck disable=SC2094
"$program" profile "${small[@]}" --snapshot p.pickle >p.pickle 2>err
[[ $? -eq 2 && ! -s p.pickle ]] || fail 'stdout and --snapshot went into one file'
cmp r.jsonl r.before || fail 'Records that were read have changed'
cmp t.bin t.before || fail 'tokens that were read have changed'
expect 0 '' profile "${small[@]}" --snapshot /dev/null --save-weights /dev/null
expect 0 '' table summary r.jsonl r.jsonl

# "-", /dev/stdout and the shell's pipes.
"$program" theory "${small[@]}" >theory.txt
for path in - /dev/stdout /dev/fd/1 /proc/self/fd/1; do
  "$program" theory "${small[@]}" --output "$path" 2>err | cmp - theory.txt || fail "a pipe as --output $path"
  { echo before && "$program" theory "${small[@]}" --output "$path" && echo after; } >all.txt 2>err
  { echo before && cat theory.txt && echo after; } | cmp - all.txt || fail "a redirected --output $path"
done
"$program" theory "${small[@]}" --output >(cat >pipe.txt) || fail '>(command) as --output'
eventually cmp -s pipe.txt theory.txt || fail 'what went into >(command)'
[[ ! -e - ]] || fail 'a file named - was made'
"$program" table summary r.jsonl >table.txt
"$program" table summary - <r.jsonl | cmp - table.txt || fail 'Records on a redirected stdin'
head -n 99 r.jsonl | "$program" table summary - | cmp - table.txt || fail 'Records from a pipe'
"$program" table summary <(cat r.jsonl) | cmp - table.txt || fail 'Records from <(command)'
"$program" profile "${small[@]}" --tokens <(cat t.bin) >out 2>err
[[ $? -eq 2 ]] || fail 'a pipe, which can be read once, was taken for --tokens'
expect 0 '' profile "${small[@]}" --tokens - <t.bin

# If a file is stdout, the report goes to stderr; the snapshot of the stub is a line of text.
"$program" profile "${small[@]}" --snapshot - >snapshot.txt 2>err || fail '--snapshot -'
[[ $(<snapshot.txt) == 'a snapshot' ]] || fail "the snapshot is not alone on stdout: $(head -n 3 snapshot.txt)"
grep -q 'Profile of' err || fail 'the report is gone'
"$program" profile "${small[@]}" --snapshot >(cat >pipe.txt) >out || fail '>(command) as --snapshot'
eventually grep -qs 'a snapshot' pipe.txt || fail 'the snapshot did not go into >(command)'
"$program" rlhf --model-size 7b --output - 2>err | grep -q '^<svg' || fail 'rlhf --output - is no picture'
expect 2 "is the file that --snapshot writes" profile "${small[@]}" --snapshot - --save-weights - <r.jsonl | cat
mkfifo waiting
cat waiting >pipe.txt &
expect 0 '' profile "${small[@]}" --snapshot waiting
wait $!
[[ $(<pipe.txt) == 'a snapshot' ]] || fail 'the reader of a FIFO did not get the snapshot'
expect 2 "--snapshot: '/dev/stdout' is not a regular file" dryrun --card h200 --snapshot - -- true
expect 0 '' dryrun --card h200 --json - -- true
grep -q '"processes"' out || fail 'dryrun --json - is not on stdout'
[[ -L /dev/stdout ]] || fail '/dev/stdout was replaced'
expect 3 'cannot read /dev/zero: it is neither a regular file nor a pipe' snapshot top /dev/zero
HEADROOM_CARDS=/dev/zero expect 2 'cannot be read: it is neither' cards

# Odd surroundings.
(ulimit -f 1 && "$program" theory "${small[@]}" --output big.txt) 2>err
[[ $? -eq 5 ]] || fail 'a limit on file sizes is not exit 5'
grep -q 'cannot write big.txt: File too large' err || fail 'a limit on file sizes is not said'
compgen -G '*.tmp' && fail 'a temporary file was left behind'
(ulimit -f 5 && "$program" sweep "${small[@]}" --context-length 1,2,3,4,5 --records limited.jsonl) >out 2>err
[[ $? -eq 5 ]] || fail 'Records beyond a limit on file sizes are not exit 5'
grep -q 'cannot write limited.jsonl: File too large' err || fail 'Records beyond a limit on file sizes: why'
expect 0 'line [0-9]* is torn' sweep "${small[@]}" --context-length 1,2,3,4,5 --records limited.jsonl
mkdir gone
(  cd gone && rmdir ../gone || exit 1
  "$program" theory "${small[@]}" >/dev/null && "$program" profile "${small[@]}" >/dev/null &&
    "$program" sweep "${small[@]}" --records "$work/gone.jsonl" >/dev/null &&
    "$program" dryrun --card h200 -- true
) 2>err || fail 'a deleted working directory'
(mkdir gone && cd gone && rmdir ../gone && "$program" theory "${small[@]}" --output x) 2>err
[[ $? -eq 5 && $(<err) == 'headroom: cannot write x: No such file or directory' ]] || fail 'a file in a deleted folder'
odd=$'f\xff\xc3\xa9'
for _ in 1 2; do
  expect 0 '' sweep "${small[@]}" --context-length 128 --snapshot-dir "$odd" --records odd.jsonl
done
[[ $(<"$odd/${name}_snapshot.pickle") == 'a snapshot' ]] || fail 'a folder whose name is no UTF-8 has no snapshot'
[[ $(wc -l <odd.jsonl) -eq 1 ]] || fail 'a folder whose name is no UTF-8 made the cell run again'
expect 0 '' dryrun --card h200 --json "$odd/report.json" -- sh -c : "$odd"
ln -s folder/missing.jsonl link.jsonl
expect 5 'cannot write link.jsonl \(a link to folder/missing.jsonl\): No such file' sweep "${small[@]}" --records link.jsonl
mkdir folder
expect 0 '' sweep "${small[@]}" --context-length 128 --records link.jsonl
[[ -L link.jsonl && -s folder/missing.jsonl ]] || fail 'Records through a link'

# An empty name is a variable that was never set, not "no file".
expect 2 "--output: '' is empty; allowed: the name of a file" theory "${small[@]}" --output ''
expect 2 "--output: '' is empty" table summary r.jsonl --output ''
expect 2 "--output: '' is empty" rlhf --output ''
expect 2 "--records: '' is empty" rlhf --records ''
expect 2 "--json: '' is empty" dryrun --card h200 --json '' -- true
expect 2 "--snapshot: '' is empty" dryrun --card h200 --snapshot= -- true
expect 2 "a file: '' is empty" snapshot top ''
expect 2 "a file: '' is empty" table summary ''
for flag in tokens load-weights snapshot output save-weights; do
  expect 2 "--$flag: '' is empty; allowed: the name of a file" profile "${small[@]}" "--$flag" ''
done
for flag in tokens load-weights records snapshot-dir; do
  expect 2 "--$flag: '' is empty; allowed: the name of a (file|folder)" sweep "${small[@]}" "--$flag" ''
done
: >empty.jsonl
expect 0 'none of the 0 Records is a training step' rlhf --records empty.jsonl

finish
