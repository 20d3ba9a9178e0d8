#!/usr/bin/env bash
# The first ^C or SIGTERM ends every command within a second, whatever it waits for.
# Usage: interrupt_test.sh HEADROOM STUB_CELL
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../expect.sh"

HEADROOM_CELL=$(realpath "$2")
export HEADROOM_CELL
begin "$1"
small=(--model-size small --device cpu)

# Started, left alone until it waits, and asked once. Python starts it, as a shell's background jobs are
# deaf to ^C.
cat >ask.py <<'PYTHON'
import signal, subprocess, sys, time
number, words = getattr(signal, "SIG" + sys.argv[1]), sys.argv[2:]
process = subprocess.Popen(words, stdout=open("out", "w"), stderr=open("err", "w"))
time.sleep(0.5)
if process.poll() is not None:
    sys.exit(f"ended by itself with {process.returncode}: " + open("err").read())
process.send_signal(number)
try:
    ended = process.wait(timeout=3)  # a second, and a machine that is busy
except subprocess.TimeoutExpired:
    process.kill()
    sys.exit("did not end")
if ended not in (130, -number):
    sys.exit(f"exit {ended}")
PYTHON

# ends WORDS...: at the first ^C, and at the first SIGTERM. All at once, each in a folder of its own with
# a pipe of its own, `silent`, that nobody else opens.
cases=0
ends() {
  local signal
  for signal in INT TERM; do
    cases=$((cases + 1))
    mkdir "$cases"
    mkfifo "$cases/silent"
    (cd "$cases" && python3 -IS ../ask.py "$signal" "$program" "$@" >problem 2>&1) ||
      printf '%s: headroom %s\n' "$signal" "$*" >>"$cases/problem" &
  done
}

# A pipe that nobody writes.
ends table summary silent
ends snapshot top silent
ends snapshot validate silent
ends rlhf --records silent
HEADROOM_CARDS=silent ends cards
HEADROOM_CARDS=silent ends budget
# A pipe that nobody reads.
ends theory "${small[@]}" --output silent
ends profile "${small[@]}" --snapshot silent
ends dryrun --card h200 --json silent -- true
# A cell that hangs, with and without a table to print.
ends profile "${small[@]}" --batch-size 14
ends sweep "${small[@]}" --batch-size 4,14
wait
: >err
for ((i = 1; i <= cases; i++)); do
  [[ ! -s $i/problem ]] || fail "$(tr '\n' ' ' <"$i/problem")"
done

# `timeout` sends one signal, and a program that is ended by it gives 124.
mkfifo silent
timeout 0.5 "$program" table summary silent >out 2>err
[[ $? -eq 124 ]] || fail 'timeout'
timeout 1 "$program" dryrun --card h200 --json silent -- sleep 9 >out 2>err
[[ $? -eq 124 ]] || fail 'timeout around a program, with a pipe that nobody reads'
mkfifo read
cat read >pipe.txt &
timeout 1 "$program" dryrun --card h200 --json read -- sleep 9 >out 2>err
wait $!
grep -q '"signal": 15' pipe.txt || fail 'the reader of a FIFO did not get the report of a program that was stopped'
compgen -G '*/*.tmp' && fail 'a temporary file was left behind'

finish
