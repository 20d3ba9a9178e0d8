#!/usr/bin/env bash
# The first ^C or SIGTERM ends every command within a second, whatever it waits for.
# Usage: interrupt_test.sh HEADROOM STUB_CELL
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"
ask=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/ask.py

begin "$1" "$2"
small=(--model-size small --device cpu)

# ends WORDS...: at the first ^C, and at the first SIGTERM. All at once, each in a folder of its own with
# a pipe of its own, `silent`, that nobody else opens.
cases=0
ends() {
  local signal
  for signal in INT TERM; do
    cases=$((cases + 1))
    mkdir "$cases"
    mkfifo "$cases/silent"
    (cd "$cases" && python3 "$ask" "$signal" "$program" "$@" >problem 2>&1) ||
      printf '%s: headroom %s\n' "$signal" "$*" >>"$cases/problem" &
  done
}

# A pipe that nobody writes.
ends table summary silent
ends snapshot top silent
ends snapshot validate silent
ends rlhf --records silent
ends compare silent silent
HEADROOM_CARDS=silent ends cards
HEADROOM_CARDS=silent ends budget
# A pipe that nobody reads.
ends theory "${small[@]}" --output silent
ends profile "${small[@]}" --snapshot silent
ends dryrun --card h200 --json silent -- true
# A cell that hangs, with and without a table to print.
ends profile "${small[@]}" --batch-size 14
ends compare --run 'sleep 1000' --run true
ends sweep "${small[@]}" --batch-size 4,14
wait
: >err
for ((i = 1; i <= cases; i++)); do
  [[ ! -s $i/problem ]] || fail "$(tr '\n' ' ' <"$i/problem")"
done

# `timeout` sends one signal, and a program that is ended by it gives 124. SIGALRM is what tells it that its time is
# over: here it comes when there is something to end.
timed_out() {
  rm -f begun
  timeout 600 "$program" "$@" >out 2>err &
  local timer=$!
  python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import processes, os
processes.until(lambda: os.path.exists("begun") or processes.asleep(int(sys.argv[2])), "begins to wait")' \
    "$(dirname "$ask")/../../support" "$timer"
  kill -ALRM "$timer"
  wait "$timer"
}
mkfifo silent
timed_out table summary silent
[[ $? -eq 124 ]] || fail 'timeout'
timed_out dryrun --card h200 --json silent -- sleep 600
[[ $? -eq 124 ]] || fail 'timeout around a program, with a pipe that nobody reads'
mkfifo read
cat read >pipe.txt &
reader=$!
timed_out dryrun --card h200 --json read -- sh -c 'touch begun; exec sleep 600'
wait "$reader"
grep -q '"signal": 15' pipe.txt || fail 'the reader of a FIFO did not get the report of a program that was stopped'
compgen -G '*/*.tmp' && fail 'a temporary file was left behind'

finish
