#!/usr/bin/env bash
# The real program and its cell with files that are not plain names: streams, bytes that are no UTF-8, a
# limit on sizes, a working directory that is gone.
# Usage: odd_files_test.sh HEADROOM
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

begin "$1"
cell=(profile --model-size small --layers 2 --device virtual:h200 --warmup-steps 0 --measure-steps 1)

expect 0 '' "${cell[@]}" --snapshot plain.pickle --save-weights plain.safetensors
expect 0 '' snapshot validate plain.pickle
"$program" "${cell[@]}" --snapshot - >stdout.pickle 2>err || fail '--snapshot -'
grep -q 'Profile of' err || fail 'the report is gone'
expect 0 '' snapshot validate stdout.pickle
"$program" "${cell[@]}" --snapshot - 2>err | "$program" snapshot validate - >out || fail 'from one program into the other'
"$program" "${cell[@]}" --save-weights - 2>err | cmp - plain.safetensors || fail '--save-weights -'

odd=$'\xff\xfe'
mkdir "$odd"
expect 0 '' "${cell[@]}" --snapshot "$odd/a.pickle" --save-weights "$odd/w.safetensors"
expect 0 '' snapshot validate "$odd/a.pickle"
expect 0 '' "${cell[@]}" --load-weights "$odd/w.safetensors"

(ulimit -f 100 && "$program" "${cell[@]}" --snapshot large.pickle) >out 2>err
[[ $? -eq 5 ]] || fail 'a limit on file sizes is not exit 5'
grep -q 'unwritable: cannot write large.pickle: File too large' err || fail 'a limit on file sizes is not said'
[[ ! -e large.pickle ]] || fail 'half a snapshot'
compgen -G '*.tmp' && fail 'a temporary file was left behind'

mkdir gone
(cd gone && rmdir ../gone && "$program" "${cell[@]}") >out 2>err || fail 'a deleted working directory'

finish
