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

# ends SIGNAL CODE WORDS...: started, left alone until it waits, and asked once. Python starts it, as a
# shell's background jobs are deaf to ^C.
cat >ask.py <<'PYTHON'
import signal, subprocess, sys, time
number, code, words = getattr(signal, "SIG" + sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
process = subprocess.Popen(words, stdin=sys.stdin, stdout=open("out", "w"), stderr=open("err", "w"))
time.sleep(0.4)
if process.poll() is not None:
    sys.exit(f"ended by itself with {process.returncode}: " + open("err").read())
process.send_signal(number)
try:
    ended = process.wait(timeout=3)  # a second, and a machine that is busy
except subprocess.TimeoutExpired:
    process.kill()
    sys.exit("did not end")
if ended not in (code, -number):
    sys.exit(f"exit {ended}")
PYTHON
ends() {
  local signal=$1 code=$2 problem
  shift 2
  problem=$(python3 -IS ask.py "$signal" "$code" "$program" "$@" 2>&1) || fail "$signal: $problem: headroom $*"
}

mkfifo silent
for signal in INT TERM; do
  # A pipe that nobody writes.
  ends $signal 130 table summary silent
  ends $signal 130 snapshot top silent
  ends $signal 130 snapshot validate silent
  ends $signal 130 rlhf --records silent
  HEADROOM_CARDS=silent ends $signal 130 cards
  HEADROOM_CARDS=silent ends $signal 130 budget
  # A pipe that nobody reads.
  ends $signal 130 theory "${small[@]}" --output silent
  # A cell that hangs, with and without a table to print.
  ends $signal 130 profile "${small[@]}" --batch-size 14
  ends $signal 130 sweep "${small[@]}" --batch-size 4,14
done

# `timeout` sends one signal, and a program that is left alone by it ends with 124.
timeout 0.5 "$program" table summary silent >out 2>err
[[ $? -eq 124 ]] || fail 'timeout'
compgen -G '*.tmp' && fail 'a temporary file was left behind'

finish
