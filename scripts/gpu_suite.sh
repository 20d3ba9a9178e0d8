#!/usr/bin/env bash
# The same cells on a real card and on the virtual one of the same name: allocated, reserved and
# requested bytes per phase, segments, and every allocator event must be equal to the byte. Of one
# snapshot the addresses of the segments are compared too, in one line; they are told, not judged.
# On a real card every form of a step is timed too, beside torch.compile with and without CUDA graphs.
#   gpu_suite.sh [--real DEVICE] [--virtual DEVICE] [--quick] [--no-times] [--output-dir DIR]
#     --real        default cuda; another virtual card compares the virtual card with itself
#     --virtual     default: the card of cards.json that the driver names
#     --quick       3 cells instead of 77, and no times
#     --no-times    only the comparison: four minutes on an H100
#     --output-dir  default results/<card>: real.jsonl, virtual.jsonl, exactness.md, steps_cuda_<date>.*
# Exit codes: 0 not a byte of difference, 2 usage, 3 some cells differ or failed, 5 no card or not built.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 5
# shellcheck source-path=SCRIPTDIR source=lib/usage.sh
source scripts/lib/usage.sh
headroom=${HEADROOM_BIN:-build/release/bin/headroom}

fail() {
  printf 'gpu_suite.sh: %s\n' "$2" >&2
  exit "$1"
}

# The name in cards.json of the machine's first card.
card_of_this_machine() {
  local driver_name
  driver_name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
  [[ -n $driver_name ]] || fail 5 "no NVIDIA card here; compare with a virtual one: --real virtual:h200 --virtual virtual:h200"
  "$headroom" cards --format json | python3 -IS -c 'import json, sys
print(next((c["name"] for c in json.load(sys.stdin)["cards"] if c["driver_name"] == sys.argv[1]), ""))' "$driver_name"
}

real=cuda virtual='' quick=0 times=1 output_dir=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=1 times=0 && shift && continue ;;
    --no-times) times=0 && shift && continue ;;
    --real | --virtual | --output-dir) [[ -n ${2:-} ]] || fail 2 "$1 needs a value" ;;
    *) fail 2 "unknown option '$1' (allowed: --real, --virtual, --quick, --no-times, --output-dir)" ;;
  esac
  given_once "$1"
  case $1 in
    --real) real=$2 ;;
    --virtual) virtual=$2 ;;
    --output-dir) output_dir=$2 ;;
  esac
  shift 2
done
[[ -x $headroom ]] || fail 5 "$headroom is not built: ./scripts/run_all.sh builds it"
if [[ -z $virtual ]]; then
  card=$(card_of_this_machine) || exit
  [[ -n $card ]] || fail 5 "this machine's card is not in cards.json; name the nearest with --virtual"
  virtual=virtual:$card
fi
output_dir=${output_dir:-results/${virtual#virtual:}}
mkdir -p "$output_dir" || fail 5 "--output-dir '$output_dir' is not writable"
scratch=$(mktemp -d) || fail 5 "no temporary folder"
trap 'rm -rf "$scratch"' EXIT

# One line per grid. An allocator setting is its own line: it holds commas.
grids() {
  if [[ $quick -eq 1 ]]; then
    echo --model-size small --context-length 128 --profile-type training --precision fp32,bf16
    echo --model-size small --context-length 128 --profile-type forward --alloc-conf expandable_segments:True
    return
  fi
  echo --model-size small,2.7B --context-length 128,512 --profile-type forward,training --precision fp32,bf16
  echo --model-size small --context-length 256 --profile-type training --precision fp32,bf16,fp16 \
    --optimizer-impl reference,foreach,fused
  echo --model-size medium --context-length 256 --profile-type forward-grad,training --precision fp32,bf16 --attention sdpa
  echo --model-size large,xl --context-length 256 --profile-type training --precision tf32,bf16 --optimizer-impl fused
  echo --model-size xl --context-length 512 --profile-type forward-backward --precision fp32
  echo --model-size 2.7B --context-length 512 --profile-type training --precision bf16 --attention sdpa --optimizer-impl fused
  echo --model-size small --context-length 256 --profile-type training --precision bf16 --attention math,flash,efficient,cudnn
  local conf
  for conf in expandable_segments:True max_split_size_mb:64 roundup_power2_divisions:4 \
    large_segment_size_mb:64 garbage_collection_threshold:0.8; do
    echo --model-size medium --context-length 512 --profile-type training --precision fp32 --alloc-conf "$conf"
  done
  techniques
}

# The grids of the techniques, each beside the defaults.
techniques() {
  local training='--model-size medium --context-length 256 --profile-type training --precision bf16'
  local fused='--attention sdpa --optimizer-impl fused'
  echo "$training" --optimizer sgd,lion,adam-mini,adam8bit,muon
  echo "$training" --recompute selective,full,every:2,blocks:50%
  echo "$training" --activations int8,fp8,offload,offload-int8
  echo "$training" --micro-batches 2
  echo "$training" --release-gradients
  echo "$training" --max-grad-norm 1
  echo "$training" --optimizer-offload cpu
  echo "$training" --optimizer-offload cpu --param-offload cpu
  echo "$training" --recompute full --activations offload
  echo --model-size medium --context-length 256 --profile-type training --param-dtype bf16 --master-weights none,fp32
  echo --model-size medium --context-length 256 --profile-type training --param-dtype bf16 --rounding stochastic
  echo --model-size medium --context-length 256 --profile-type training --precision fp8
  echo "$training $fused" --step-graph
  echo "$training $fused" --kernels compiled --step-graph=false,true
  echo "$training $fused" --kernels compiled --recompute full,budget:0.5
  local generation='--model-size medium --context-length 64 --profile-type generate --precision bf16'
  echo "$generation" --kv-cache contiguous,paged --kv-cache-dtype auto,int8
  echo "$generation" --decode-graph
}

# run DEVICE NAME: every grid's Records in NAME.jsonl, snapshots in NAME/.
run() {
  local device=$1 name=$2 number=0 flags status
  : >"$output_dir/$name.jsonl"
  while IFS= read -r flags; do
    number=$((number + 1))
    # shellcheck disable=SC2086  # words on purpose
    "$headroom" sweep --device "$device" $flags --warmup-steps 2 --measure-steps 1 --stacks none \
      --snapshot-dir "$scratch/$name/$number" --format jsonl >>"$output_dir/$name.jsonl" </dev/null
    status=$?
    [[ $status -ne 2 && $status -ne 130 ]] || exit "$status"
  done < <(grids)
}

# Ten programs, one after another, three times for each precision: about ten minutes.
time_forms() {
  local fused='--attention sdpa --optimizer-impl fused'
  studies/peers/compare_peers.sh --headroom "$headroom" --device cuda --sizes small --contexts 128 --precision fp32,bf16 \
    --rounds 3 --warmup-steps 5 --measure-steps 30 --output "$output_dir" \
    --peers eager_reference,sdpa_fused,compiled,compiled_graphs \
    --variant "fused=$fused" --variant "fused_graph=$fused --step-graph" \
    --variant "compiled=$fused --kernels compiled" --variant "compiled_graph=$fused --kernels compiled --step-graph"
}

run "$real" real
run "$virtual" virtual
python3 -IS scripts/lib/records/exactness_table.py "$headroom" "$output_dir/real.jsonl" "$output_dir/virtual.jsonl" \
  >"$output_dir/exactness.md"
status=$?
{
  echo
  python3 -IS scripts/lib/records/segment_addresses.py "$output_dir/real.jsonl" "$output_dir/virtual.jsonl"
} >>"$output_dir/exactness.md"
python3 -IS scripts/lib/records/bare_snapshots.py "$output_dir/real.jsonl" "$output_dir/virtual.jsonl"
cat "$output_dir/exactness.md"
if [[ $times -eq 1 && $real == cuda* ]]; then time_forms || status=3; fi
exit "$status"
