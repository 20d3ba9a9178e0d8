#!/usr/bin/env bash
# headroom plot: its inputs, its exit codes, the figures that it writes.
# Usage: plot_test.sh HEADROOM RECORDS.jsonl
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"

records=$(realpath "$2")
begin "$1"
cp "$records" records.jsonl

expect 0 'wrote plot.svg$' plot records.jsonl
[[ $(tail -n 1 plot.svg) == '</svg>' ]] || fail 'plot.svg is no whole drawing'
expect 0 'wrote by.svg$' plot records.jsonl --x context_length --y reserved --by profile-type,precision -o by.svg
grep -q 'peak reserved' by.svg || fail 'the axis has no name'
grep -q '>forward, bf16</text>' by.svg || fail 'a line has no name'
expect 0 '' plot records.jsonl --x step-ms --y peak --by techniques -o techniques.svg
grep -q 'context length 128' techniques.svg || fail 'a point does not say its settings'
"$program" plot <(cat records.jsonl) -o piped.svg 2>/dev/null
cmp -s piped.svg plot.svg || fail 'Records from a pipe are another figure'
expect 0 '' plot records.jsonl --x model-size --y step-ms --output words.svg
grep -q '>small</text>' words.svg || fail 'a word is no tick'
if command -v rsvg-convert >/dev/null; then
  expect 0 '' plot records.jsonl -o plot.png
  [[ $(head -c 4 plot.png | tail -c 3) == PNG ]] || fail 'plot.png is no PNG'
  expect 0 '' plot records.jsonl -o plot.pdf
  [[ $(head -c 4 plot.pdf) == %PDF ]] || fail 'plot.pdf is no PDF'
fi
PATH=/nowhere expect 5 'rsvg-convert: sudo apt-get install librsvg2-bin' plot records.jsonl -o none.png

# A snapshot: its peak is that of `snapshot top`.
"$program" profile --model-size small --context-length 128 --profile-type training --device virtual:h200 --snapshot step.pickle >/dev/null 2>&1 ||
  fail 'no snapshot'
expect 0 'peak drawn: ' plot step.pickle -o step.svg
grep -q '<title>optimizer state</title>' step.svg || fail 'a purpose has no area'
grep -q '>backward</text>' step.svg || fail 'a phase has no name'
cp step.pickle named_otherwise
expect 0 'peak drawn: ' plot named_otherwise -o otherwise.svg
printf 'no pickle' >broken.pickle
expect 3 'broken.pickle' plot broken.pickle -o none.svg
expect 2 "'records.jsonl' is too much: a figure is of one snapshot" plot step.pickle records.jsonl -o none.svg
expect 2 "--by: 'precision' is for Records, not for a snapshot" plot step.pickle --by precision -o none.svg

# Nothing is written where something is wrong.
expect 2 'needs a Records file.*example: ' plot
expect 2 "--x-axis: 'contxt' is unknown" plot records.jsonl --x contxt -o none.svg
expect 2 "--y-axis: 'peek' is unknown.*did you mean peak" plot records.jsonl --y peek -o none.svg
expect 2 "--by: 'sise' is unknown" plot records.jsonl --by sise -o none.svg
expect 2 "--output: 'a.gif' has no known ending; allowed: .svg, .png, .pdf" plot records.jsonl -o a.gif
sed 's/"step_ms":\[[^]]*\]/"step_ms":[]/' records.jsonl >untimed.jsonl
expect 2 'none of .* Records has .*' plot untimed.jsonl --y step-ms -o none.svg
expect 5 'cannot write nowhere/plot.svg: No such file' plot records.jsonl -o nowhere/plot.svg
[[ ! -e none.svg && ! -e none.png && ! -e a.gif ]] || fail 'a figure was written from bad input'

finish
