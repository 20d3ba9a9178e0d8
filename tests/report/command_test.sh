#!/usr/bin/env bash
# headroom report without a browser: its inputs, its exit codes, the file that it writes.
# Usage: command_test.sh HEADROOM MAKE_SNAPSHOT RECORDS.jsonl FIT.json
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"

make_snapshot=$(realpath "$2")
records=$(realpath "$3")
fit=$(realpath "$4")
begin "$1"

"$make_snapshot" 5000 step.pickle >made || fail 'no sample was made'
cp "$records" records.jsonl

# One line that says the file, and a whole page.
expect 0 '^wrote report.html$' report step.pickle
[[ $(tail -n 1 report.html) == '</html>' ]] || fail 'report.html is no whole page'
[[ $(grep -c 'id="snapshot-0-0"' report.html) -eq 1 ]] || fail 'the page has no history'
expect 0 '^wrote both.html$' report step.pickle records.jsonl -o both.html
grep -q '<table class="sortable">' both.html || fail 'the page has no table'
grep -q 'headroom profile --model-size' both.html || fail 'a figure has no command'
expect 0 '' report step.pickle --output -
cmp -s out report.html || fail 'stdout is not the page'
expect 0 '' report - --output piped.html <step.pickle

# A folder stands for its files.
mkdir folder nothing
cp step.pickle records.jsonl folder
expect 0 '' report folder --output folder.html
grep -q '<title>Memory report: step.pickle, records.jsonl</title>' folder.html || fail 'a folder is not its files'

# An answer of headroom fit: its picture, and each set with its command.
cp "$fit" folder/answer.json
echo '{"records": []}' >folder/other.json
expect 0 '' report folder --output fit.html
grep -q '<h2>What fits</h2>' fit.html || fail 'the answers of fit are not in the report'
grep -q 'peaks with the CUDA context' fit.html || fail 'the answers of fit have no picture'
grep -q '<td>headroom profile --model-size 2.7B' fit.html || fail 'an answer of fit has no command'
sed 's/"peak_allocated_bytes"/"peak"/' "$fit" >lacking.json
expect 2 "'lacking.json' lacks a part of a document of headroom fit" report lacking.json

# Nothing is written where something is wrong.
rm -f report.html
expect 2 'needs a snapshot, a Records file or a folder.*example: ' report
expect 2 "'nothing' has no .pickle and no .jsonl file" report nothing
expect 2 "-o: needs a value \(example: --output report.html\)" report step.pickle -o
expect 2 "--output: 'b.html' is a second value" report step.pickle -o a.html --output b.html
expect 2 "'step.pickle' is the file that is read" report step.pickle -o step.pickle
expect 2 'cannot read missing.jsonl' report missing.jsonl
expect 3 'cannot read missing.pickle: No such file' report missing.pickle
head -c 3000 step.pickle >cut.pickle
expect 3 'cut.pickle: .*cut short' report step.pickle cut.pickle
echo 'no pickle' >text.pickle
expect 3 'text.pickle: not a pickle' report text.pickle
expect 5 'cannot write nowhere/report.html: No such file' report step.pickle -o nowhere/report.html
[[ ! -e report.html && ! -e a.html ]] || fail 'a report was written from bad input'
[[ -z $(find . -name '*.tmp') ]] || fail 'a temporary file is left'

finish
