#!/usr/bin/env bash
# headroom dryrun around programs that use no CUDA: exit codes, what is passed on, what is refused.
# shellcheck disable=SC2016 # the inner shells expand
# Usage: dryrun_test.sh HEADROOM
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

begin "$1"
card=(dryrun --card h200)

# The message repeats the user's command.
expect 2 '--card is needed' dryrun -- true
expect 2 'a program is needed' "${card[@]}" --
expect 2 "'--' is needed before the program" "${card[@]}" true
expect 2 'did you mean h200' dryrun --card h20x -- true
expect 2 "--card: 'v100' is refused: .* sm_70" dryrun --card v100 -- true
expect 2 '--count.* allowed: 1 to 64' "${card[@]}" --count 0 -- true
expect 2 "--events: 'never' is none of done, late, both" "${card[@]}" --events never -- touch ran
expect 2 '--snapshot: .* --events both makes two runs' "${card[@]}" --events both --snapshot s.pickle -- touch ran
expect 2 '--output: .* is the file of --breakdown.*example: --breakdown --output' "${card[@]}" --output b.json -- touch ran
expect 2 '--breakdown: .* --events both makes two runs' "${card[@]}" --events both --breakdown -- touch ran
expect 5 'cannot write /nosuch/file' "${card[@]}" --breakdown --output /nosuch/file -- touch ran
expect 0 'exit code 0' "${card[@]}" --breakdown --output b.json -- true
grep -q '"processes": \[\]' b.json || fail "a breakdown of no process: $(<b.json)"
expect 2 '--try-advice: .* --events both makes two runs' "${card[@]}" --events both --try-advice -- touch ran
expect 2 '--vary: .* allowed: with --try-advice' "${card[@]}" --vary n=1..2 -- touch 'ran{n}'
expect 2 '--vary: .* does not appear in the program.*example: headroom dryrun .*--try-advice --vary' "${card[@]}" --try-advice --vary n=1..2 -- touch ran
expect 0 'exit code 0' "${card[@]}" --try-advice --vary n=1..2 -- touch 'with{n}'
[[ -e with2 && ! -e with1 ]] || fail "the program ran with another value than the largest"
expect 2 "--route: 'even' is none of balanced, worst, or a number" "${card[@]}" --route even -- touch ran
expect 2 "--max-peak: '12x' is not a size" "${card[@]}" --max-peak 12x -- touch ran
expect 2 '--max-peak: .* --events both makes two runs' "${card[@]}" --events both --max-peak 1GiB -- touch ran
expect 5 '--max-peak: no process of the program reported a peak' "${card[@]}" --max-peak 1GiB -- true
expect 7 'exit code 7' "${card[@]}" --max-peak 1GiB -- sh -c 'exit 7'
expect 0 'exit code 0 after .* with late events exit code 0' "${card[@]}" --events both -- true
expect 3 'exit code 3' "${card[@]}" --events both -- sh -c 'test "$HEADROOM_VIRTUAL_EVENTS" = done || exit 3'
expect 2 '--bytes: .* is not a size' "${card[@]}" --bytes 1x -- true
expect 2 '--bytes: .* leaves no memory' "${card[@]}" --bytes 1MiB -- true

for bad in train.py train.py=1 train.py:x=1 train.py:0=1 :3=1 train.py:3=x train.py:3= train.py:3=1,,2 \
  train.py:3=1*0 train.py:3=1*x train.py:3=0x10; do
  expect 2 "--value: .*example: --value train.py:42=1" "${card[@]}" --value t.py:1=1 --value "$bad" -- touch ran
done
expect 2 '--value: needs a value' "${card[@]}" --value
[[ ! -e ran ]] || fail "the program ran although a value is none"
expect 0 "'a/b.py:7=0\*99,1.5' was never read" "${card[@]}" --value a/b.py:7=0*99,1.5 --value=b.py:1=nan -- true

# The program.
expect 5 "cannot run 'nosuch': there is no such program in PATH" "${card[@]}" -- nosuch
expect 5 'cannot run ./nosuch: No such file' "${card[@]}" -- ./nosuch
touch script.py
expect 5 'it is not executable .* python ./script.py' "${card[@]}" -- ./script.py
expect 5 'cannot write /nosuch/file' "${card[@]}" --json /nosuch/file -- touch ran
[[ ! -e ran ]] || fail "the program ran although its report cannot be written"
echo 'int main() {}' >static.c
if cc -static static.c -o static 2>/dev/null; then
  expect 2 'is linked statically, so nothing can be preloaded' "${card[@]}" -- ./static
fi

# Exit codes, output, arguments and the environment are the program's own.
expect 7 'exit code 7 .* no process reported any use of CUDA' "${card[@]}" -- sh -c 'exit 7'
expect 143 'signal 15 \(SIGTERM\)' "${card[@]}" -- sh -c 'kill -TERM $$'
expect 0 '' "${card[@]}" -- printf '%s,' --help -- --card 'a b'
[[ $(<out) == '--help,--,--card,a b,' ]] || fail "arguments: $(<out)"
echo hello | "$program" "${card[@]}" -- cat >out 2>err
[[ $(<out) == hello ]] || fail "stdin is not the program's"
LD_PRELOAD=libm.so.6 PYTHONPATH=/mine expect 0 '' "${card[@]}" -- sh -c 'echo "$LD_PRELOAD $PYTHONPATH"'
grep -qE ':libm.so.6(:| ).*/python_hook:/mine$' out || fail "what was set before is lost: $(<out)"
expect 0 '' "${card[@]}" --alloc-conf max_split_size_mb:64 -- sh -c 'echo "$PYTORCH_CUDA_ALLOC_CONF"'
[[ $(<out) == max_split_size_mb:64 ]] || fail "--alloc-conf does not arrive"

# ^C reaches program and us: its exit code counts, and the report is printed.
setsid bash -c '"$0" dryrun --card h200 -- sh -c "trap \"exit 9\" INT; kill -INT 0; sleep 5"' "$program" 2>err
grep -q 'exit code 9' err || fail "after ^C: $(<err)"

# A signal for the group reaches the program once, one for us alone is handed on. Each word of `got`
# is one arrival; the program ends a second after the first.
cat >counts.sh <<'EOS'
for name in INT TERM; do trap "echo $name >>got; ended=yes" $name; done
echo "$$" >started
while [ -z "$ended" ]; do sleep 0.1; done
sleep 1 &
wait
wait
exit 9
EOS
# in_background WORDS...: started, with a ^C that it hears; returns when the program in it has begun to wait.
in_background() {
  rm -f got started
  (trap - INT && exec python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@") 2>err &
  while [[ ! -s started ]] && kill -0 $!; do sleep 0.1; done
}
for name in INT TERM; do
  in_background timeout -s "$name" 600 "$program" "${card[@]}" -- sh counts.sh
  kill -ALRM $! # its time is over
  wait $!
  [[ $(wc -l <got) == 1 ]] || fail "timeout -s $name: the program had $(wc -l <got) signals: $(<got)"
  grep -q 'exit code 9' err || fail "timeout -s $name: $(<err)"
done
for name in INT TERM; do
  in_background "$program" "${card[@]}" -- sh counts.sh
  kill "-$name" $!
  wait $!
  [[ $? == 9 && $(<got) == "$name" ]] || fail "SIG$name to us alone: $(<got) $(<err)"
done

# The reports' folder: where there is room, and gone afterwards.
mkdir scratch
TMPDIR=$PWD/scratch expect 0 '' "${card[@]}" -- sh -c 'echo "$HEADROOM_VIRTUAL_REPORT"'
grep -q "^$PWD/scratch/headroom-dryrun" out || fail "not in TMPDIR: $(<out)"
[[ -z $(ls scratch) ]] || fail "left behind: $(ls scratch)"
TMPDIR=/nosuch expect 0 '' "${card[@]}" -- true
expect 0 '' "${card[@]}" --json report.json -- true
grep -q '"processes": \[\]' report.json || fail "no JSON"

finish
