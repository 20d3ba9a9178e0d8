#!/usr/bin/env bash
# The Google Benchmark program on a tiny model: its JSON, its exit codes, one line on stderr.
# Usage: headroom_bench_test.sh HEADROOM_BENCH; HEADROOM_LONG adds more wrong values of the flags that headroom has, too.
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

begin "$1"
narrow=(--device cpu --d-ff 64 --layers 2 --heads 2 --vocab-size 64 '--context-length=8,16' --threads 1
  --measure-steps 2)
tiny=("${narrow[@]}" --d-model 32)

# holds FILE PYTHON: strict JSON (no NaN, no Infinity), and true of it; `rows` are the benchmarks.
holds() {
  python3 - "$1" "$2" <<'PYTHON' || fail "$1: not $2"
import json, sys
def refuse(word):
    raise ValueError(word)
data = json.load(open(sys.argv[1]), parse_constant=refuse)
rows = data["benchmarks"]
sys.exit(0 if eval(sys.argv[2]) else 1)
PYTHON
}

# A whole grid.
expect 0 '' "${tiny[@]}" --benchmark_out=grid.json --benchmark_format=json
holds out 'len(rows) == 8'
holds grid.json 'len(rows) == 8 and all("error_message" not in row for row in rows)'
holds grid.json 'all(row["tokens/s"] > 0 and row["FLOP/s"] > 0 for row in rows)'
holds grid.json 'all(row["peak_allocated_bytes"] > 4 * 2 * 64 * 32 for row in rows)'
holds grid.json '"MFU" not in rows[0] and "6*N*T" in data["context"]["flops_per_step"]'
holds grid.json 'all(row["iterations"] == 2 and row["time_unit"] == "ms" for row in rows)'
# tokens/s and FLOP/s are of the printed time: 4 sequences of 8 tokens.
holds grid.json 'abs(rows[0]["tokens/s"] * rows[0]["real_time"] / 1e3 / 32 - 1) < 1e-3'
expect 0 '' "${tiny[@]}" --benchmark_filter=ctx8/training --benchmark_format=json --peak-flops 1e12
holds out 'all(abs(row["MFU"] * 1e12 / row["FLOP/s"] - 1) < 1e-6 for row in rows)'

# The library's flags.
expect 0 '' "${tiny[@]}" --benchmark_list_tests --benchmark_filter= --attention eager,sdpa
[[ $(wc -l <out) -eq 16 ]] || fail 'list_tests with an empty filter does not print all 16 names'
grep -q '^step/small-custom/ctx8/training/fp32/attention:sdpa' out || fail 'list_tests lacks a name'
expect 0 '' "${tiny[@]}" --benchmark_filter=ctx8/forward/fp32 --benchmark_repetitions=3 --benchmark_out=rep.json
holds rep.json '[row["aggregate_name"] for row in rows[3:]] == ["mean", "median", "stddev", "cv"]'
expect 0 '' "${tiny[@]}" --benchmark_filter=ctx8/forward/fp32 --benchmark_min_time=0.05 --benchmark_format=json
holds out 'len(rows) == 1 and rows[0]["iterations"] > 2 and "iterations:" not in rows[0]["name"]'
expect 0 '' "${tiny[@]}" --benchmark_filter=ctx8/forward --benchmark_out=a.csv --benchmark_out_format=csv
grep -q 'peak_allocated_bytes' a.csv || fail 'the CSV file has no counters'

# Cells that do not fit are rows, and the rest still runs.
expect 4 '' "${tiny[@]}" --host-memory 20KiB --benchmark_out=oom.json
holds oom.json 'len(rows) == 8 and all(row["error_message"].startswith("oom: ") for row in rows)'
if [[ -n ${HEADROOM_LONG:-} ]]; then
  expect 3 '' "${narrow[@]}" --d-model 32,4096 --host-memory 100MiB --precision fp32 --profile-type forward \
    --benchmark_out=some.json
  holds some.json '["error_message" in row for row in rows] == [False, False, True, True]'
fi
# 4,096 wide first: the columns of the CSV are those of the cells that ran.
expect 3 '' "${narrow[@]}" --d-model 4096,32 --host-memory 10MiB --precision fp32 --profile-type forward \
  --benchmark_format=csv --benchmark_out=some.csv --benchmark_out_format=csv
grep -v '^name' out | while read -r row; do grep -qxF -- "$row" some.csv || exit 1; done ||
  fail 'the CSV file lacks a row that stdout has'
grep -q 'd-model:4096.*oom: ' out || fail 'the CSV lacks the cell that did not fit'
head -1 out | grep -q 'tokens/s' || fail 'the CSV lacks the counters after a cell that did not fit'

# Bad input.
for filter in nothing '('; do
  "$program" "${tiny[@]}" "--benchmark_filter=$filter" >out 2>err
  [[ $? -eq 2 && $(wc -l <err) -eq 1 && ! -s out ]] || fail "not exit 2 and one line: the filter '$filter'"
done
expect 2 '--benchmark_filte=x: Google Benchmark does not have this flag' "${tiny[@]}" --benchmark_filte=x
expect 2 '--benchmark_filter: Google Benchmark does not have this flag or refuses its value' "${tiny[@]}" --benchmark_filter
expect 2 '--benchmark_format=xml' "${tiny[@]}" --benchmark_list_tests --benchmark_format=xml --benchmark_out=out.json
expect 2 "flag --v is expected to be a 32-bit integer, but actually has value \"many\"" "${tiny[@]}" --v=many
expect 2 'did you mean --precision\?' --precison fp32
if [[ -n ${HEADROOM_LONG:-} ]]; then
  expect 2 'did you mean small\?' --model-size smal
  expect 2 'context-length' --context-length 512x
  expect 2 'belongs to no flag' --model-size small 256
  expect 2 '--heads|--d-model' --d-model 33
  expect 2 "--batch-size: '1024' with --context-length 1048576.*beyond 2\^62" --model-size 405b --batch-size 1024 \
    --context-length 1048576
fi
for repetitions in many -3; do
  expect 2 "--benchmark_repetitions: '$repetitions' is .*; allowed: 1 to" "${tiny[@]}" "--benchmark_repetitions=$repetitions"
done
BENCHMARK_FORMAT=xml expect 2 'BENCHMARK_FORMAT' "${tiny[@]}"

# Outputs.
one=("${tiny[@]}" --benchmark_filter=ctx8/forward/fp32)
expect 5 'no/such' "${one[@]}" --benchmark_out=no/such/file.json
[[ $(wc -l <err) -eq 1 ]] || fail 'an unwritable path is not one line'
expect 5 '/dev/full' "${one[@]}" --benchmark_out=/dev/full
"$program" "${one[@]}" >/dev/full 2>err
[[ $? -eq 5 ]] || fail 'a full stdout does not exit 5'
printf old >kept.json
echo '{"cards": []}' >cards.json
HEADROOM_CARDS=cards.json expect 2 "--benchmark_out: 'cards.json' is the file that HEADROOM_CARDS reads" \
  "${one[@]}" --benchmark_out=cards.json
(ulimit -f 1 && "$program" "${one[@]}" --benchmark_out=kept.json 2>&1 >/dev/null) | cat >err
[[ ${PIPESTATUS[0]} -eq 5 ]] || fail 'a limit on file sizes is not exit 5'
grep -q 'File too large' err || fail 'a limit on file sizes is not said'
"$program" "${tiny[@]}" --benchmark_filter=nothing --benchmark_out=kept.json 2>err
"$program" "${tiny[@]}" --benchmark_list_tests --benchmark_out=kept.json >out 2>err
[[ $(cat kept.json) == old ]] || fail 'an earlier result was lost'
BENCHMARK_OUT=from_environment.json expect 0 '' "${one[@]}"
holds from_environment.json 'len(rows) == 1'
for flag in --optimizer-offload '--optimizer-offload cpu --param-offload'; do
  # shellcheck disable=SC2086  # two flags and a value
  expect 5 'cannot write no/such.*No such file or directory' "${tiny[@]}" --profile-type training $flag nvme:no/such
  [[ $(wc -l <err) -eq 1 && ! -s out ]] || fail "a directory that is not there is not one line: $flag"
done
if [[ ! -e /dev/nvidiactl ]]; then
  expect 5 '--device cpu has' --device cuda
  [[ $(wc -l <err) -eq 1 ]] || fail 'no card: not one line'
fi
expect 0 '' --help
grep -q 'MFU = ' out || fail '--help lacks the formula'
grep -q -- '--benchmark_filter' out || fail "--help lacks the library's flags"

finish
