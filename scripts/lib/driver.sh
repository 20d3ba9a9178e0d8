# shellcheck shell=bash
# The common part of run_all.sh and the assignment's part scripts: options, set-up, cells, outputs,
# the last line. Sourced, never run. A part script defines its part as a function and ends with
# run_alone; run_all.sh sources them all.
#
# Note [A failing step does not stop the others]
# Rationale: losing the third table because the first cell ran out of memory wastes a night.
# Approach: no `set -e`; every step goes through `step` or `cells`, which collect what failed;
#   driver_finish names it.
# Limits: bad usage (2), Ctrl-C (130) and a failed set-up (5) stop at once, since every later step
#   would fail alike.
set -uo pipefail

driver_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
driver_title=
driver_steps=0
driver_failures=()
driver_records= # JSON lines of every cell that this script has run

driver_child=   # the sweep that is running

say() { printf '%s\n' "$*" >&2; }

# shellcheck source-path=SCRIPTDIR source=lock.sh
source "$driver_root/scripts/lib/lock.sh"
# shellcheck source-path=SCRIPTDIR source=usage.sh
source "$driver_root/scripts/lib/usage.sh"

driver_usage() {
  cat <<EOF
usage: ${0##*/} [--model-size SIZE] [--contexts N,N,...]
       [--device DEVICE | --card CARD] [--output-dir DIR] [--warmup-steps N]
       [--measure-steps N]
$(fold -s -w 80 <<<"$driver_title" | sed 's/ *$//')
  --model-size     named size; default 2.7B, on the CPU small; where all sizes
                   are profiled, that one only
  --contexts       tokens per sequence; default 128,256,512
  --device         default cuda when the machine has a card, else virtual:h200
  --card           a virtual card: --card h200 is --device virtual:h200
  --output-dir     default results/memory_profiling in this repository
  --warmup-steps   default 5 on a card, 2 on a virtual one, 1 on the CPU
  --measure-steps  default 10 on a card, 1 on a virtual one, 2 on the CPU
In the environment: MODEL_SIZE, CONTEXTS, DEVICE, OUTPUT_DIR, WARMUP_STEPS,
MEASURE_STEPS. HEADROOM_BIN=PATH uses that headroom program and skips set-up
and build.
Exit codes: 0 all done, 2 usage, 3 some steps failed, 4 all failed, 5 set-up
or build failed, 130 interrupted.
EOF
}

usage_error() {
  say "${0##*/}: $*; see ${0##*/} --help"
  exit 2
}

has_cuda_card() { nvidia-smi -L 2>/dev/null | grep -q '^GPU '; }

parse_options() {
  local flag value
  while [[ $# -gt 0 ]]; do
    flag=${1%%=*}
    case $flag in
      -h | --help) driver_usage && exit 0 ;;
      --model-size | --contexts | --device | --card | --output-dir | --warmup-steps | --measure-steps) ;;
      *) usage_error "unknown option '$1' (allowed: --model-size, --contexts, --device, --card, --output-dir," \
        "--warmup-steps, --measure-steps; example: --contexts 128,256)" ;;
    esac
    if [[ $1 == *=* ]]; then
      value=${1#*=}
      shift
    else
      [[ $# -ge 2 ]] || usage_error "$flag needs a value"
      value=$2
      shift 2
    fi
    [[ -n $value ]] || usage_error "$flag '' is empty; leave it out for the default"
    case $flag in
      --device) given_once --device --card ;;
      --card) given_once --card --device ;;
      *) given_once "$flag" ;;
    esac
    case $flag in
      --model-size) MODEL_SIZE=$value ;;
      --contexts) CONTEXTS=$value ;;
      --device) DEVICE=$value ;;
      --card) DEVICE=virtual:$value ;;
      --output-dir) OUTPUT_DIR=$value ;;
      --warmup-steps) WARMUP_STEPS=$value ;;
      --measure-steps) MEASURE_STEPS=$value ;;
    esac
  done
}

# Settles every option. headroom itself judges sizes, devices and counts; here only what file names
# are made of.
settle_options() {
  contexts=${CONTEXTS:-128,256,512}
  [[ $contexts =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] ||
    usage_error "--contexts '$contexts' is not a list of positive numbers (example: --contexts 128,256)"
  # shellcheck disable=SC2034  # the parts use it
  largest_context=$(tr ',' '\n' <<<"$contexts" | sort -n | tail -n 1)
  device=${DEVICE:-$(has_cuda_card && echo cuda || echo virtual:h200)}
  if [[ $device == cpu ]]; then
    model_size=${MODEL_SIZE:-small} warmup_steps=${WARMUP_STEPS:-1} measure_steps=${MEASURE_STEPS:-2}
  elif [[ $device == virtual:* ]]; then # nothing is timed, and every step allocates alike
    model_size=${MODEL_SIZE:-2.7B} warmup_steps=${WARMUP_STEPS:-2} measure_steps=${MEASURE_STEPS:-1}
  else
    model_size=${MODEL_SIZE:-2.7B} warmup_steps=${WARMUP_STEPS:-5} measure_steps=${MEASURE_STEPS:-10}
  fi
  [[ $model_size =~ ^[A-Za-z0-9.-]+$ ]] ||
    usage_error "--model-size '$model_size' is not one named size (example: --model-size small)"
  # shellcheck disable=SC2034  # profile_sizes.sh uses it
  all_sizes=${MODEL_SIZE:-small,medium,large,xl,2.7B,10B}
  output_dir=${OUTPUT_DIR:-$driver_root/results/memory_profiling}
  [[ $output_dir == /* ]] || output_dir=$PWD/$output_dir
}

# build TARGET...: says how far it is; the whole output is in build/release-build.log. Its exit code.
build() {
  local log=build/release-build.log command=(cmake --build --preset release --target "$@") plan status
  lock 8 build/build.lock "$driver_root/build"
  plan=$("${command[@]}" -- -n 2>/dev/null)
  "${command[@]}" 2>&1 |
    python3 -IS scripts/lib/build_progress.py "$log" <(printf '%s\n' "$plan") build/release/.ninja_log
  status=$?
  exec 8>&-
  [[ $status -eq 0 ]] && return
  tail -n 20 "$log" >&2
  say "the build failed; the whole output is in $log"
  return "$status"
}

build_programs() {
  scripts/setup.sh || exit
  build headroom headroom-cell || exit 5
  headroom=$driver_root/build/release/bin/headroom
}

open_output_dir() {
  if ! mkdir -p "$output_dir/cells" || ! records=$(mktemp "$output_dir/.opened.XXXXXX"); then
    say "${0##*/}: --output-dir '$output_dir' is not writable"
    exit 5
  fi
  rm -f "$records"
  lock 9 "$output_dir/cells/.lock" "$output_dir"
  # One file for every part, so that a cell that two parts want runs once, and a second run finds
  # it.
  records=$output_dir/records.jsonl
}

# A shell waits for a program in the foreground before it acts on a signal, so sweeps run in the
# background, where they are deaf to ^C: it is handed on.
interrupted() {
  trap '' INT TERM
  [[ -z $driver_child ]] || { kill -TERM "$driver_child" && wait "$driver_child"; } 2>/dev/null
  say "interrupted; run it again to go on where it stopped"
  exit 130
}

# measured COMMAND...: in the background, where a signal for this script reaches it; its exit code.
measured() {
  local status
  "$@" &
  driver_child=$!
  wait "$driver_child"
  status=$?
  driver_child=
  return "$status"
}

# sweep FLAGS...: the Records of a sweep in sweep_rows, one JSON line each; its exit code.
sweep() {
  local file=$output_dir/cells/.rows status
  measured "$headroom" sweep "$@" --records "$records" --format jsonl >"$file"
  status=$?
  sweep_rows=$(<"$file")
  rm -f "$file"
  return "$status"
}

driver_start() {
  trap interrupted INT TERM
  parse_options "$@"
  settle_options
  cd "$driver_root" || exit 5
  if [[ -n "${HEADROOM_BIN:-}" ]]; then
    headroom=$HEADROOM_BIN
  else
    build_programs
  fi
  open_output_dir
  say "model $model_size, contexts $contexts, device $device, output in $output_dir"
}

failed() {
  local known
  for known in "${driver_failures[@]}"; do [[ $known == "$1" ]] && return; done
  driver_failures+=("$1")
}

stop_if_hopeless() {
  [[ $1 -ne 2 && $1 -ne 130 ]] || exit "$1"
}

# step NAME COMMAND...: runs it; a failure is remembered and the script goes on.
step() {
  local name=$1 status
  shift
  driver_steps=$((driver_steps + 1))
  "$@"
  status=$?
  [[ $status -ne 130 ]] || exit 130
  [[ $status -eq 0 ]] || failed "$name (exit $status)"
  return "$status"
}

# write_output FILE COMMAND...: the command's stdout, put in place only when it succeeded.
write_output() {
  local file=$1 status
  shift
  "$@" >"$file.partial"
  status=$?
  if [[ $status -eq 0 ]] && mv "$file.partial" "$file"; then return 0; fi
  rm -f "$file.partial"
  return "$((status == 0 ? 5 : status))"
}

# write_tables STEM TEXT COMMAND...: STEM.txt, STEM.md and STEM.csv from COMMAND --format F; the
# text is shown too, as wide as the terminal. TEXT is the command's word for its text format. Stops at the first
# format that fails: the others would fail alike.
write_tables() {
  local stem=$1 text=$2 format extension
  shift 2
  for format in "$text" md csv; do
    extension=${format/#$text/txt}
    step "$stem.$extension" write_output "$output_dir/$stem.$extension" "$@" --format "$format" || return
  done
  if [[ -t 1 ]]; then "$@" --format "$text"; else cat "$output_dir/$stem.txt"; fi
}

# select_records CONTEXTS MODES PRECISIONS <RECORDS: lines "context mode precision status name snapshot
# JSON" separated by \x1f, one for each cell of that grid.
select_records() { python3 -IS "$driver_root/scripts/lib/records/select_records.py" "$@"; }

# Prints the values without a result, of a comma list in field $1 of select_records lines on stdin.
missing_values() {
  awk -F $'\x1f' -v field="$1" '$4 == "missing" && !seen[$field]++ {
    printf "%s%s", separator, $field; separator = ","}'
}

# cells STEM NAMES CONTEXTS MODES PRECISIONS: runs what of that grid this script has not run yet,
# leaves the grid's Records in STEM.jsonl and its snapshots under the assignment's names: NAMES is
# "plain" (size, context, mode) or "precision" (with the precision). Every cell is one step.
cells() {
  local stem=$1 names=$2 grid=("${@:3}") rows contexts_left precisions_left status=0
  rows=$(select_records "${grid[@]}" <<<"$driver_records")
  contexts_left=$(missing_values 1 <<<"$rows")
  precisions_left=$(missing_values 3 <<<"$rows")
  if [[ -n $contexts_left ]]; then
    sweep --model-size "$model_size" --device "$device" \
      --context-length "$contexts_left" --profile-type "$4" --precision "$precisions_left" \
      --warmup-steps "$warmup_steps" --measure-steps "$measure_steps" --snapshot-dir "$output_dir/cells"
    status=$?
    driver_records+=$'\n'$sweep_rows
    stop_if_hopeless "$status"
    rows=$(select_records "${grid[@]}" <<<"$driver_records")
  fi
  name_snapshots "$names" "$status" <<<"$rows"
  rows=$(cut -d $'\x1f' -f 7 <<<"$rows" | grep .) || return # not one result: no table either
  write_output "$output_dir/$stem.jsonl" cat <<<"$rows" || failed "$stem.jsonl (cannot be written)"
}

# Hard links: two parts may want one snapshot under two names, and it can be large.
name_snapshots() {
  local names=$1 sweep_status=$2 context mode precision state name snapshot target
  while IFS=$'\x1f' read -r context mode precision state name snapshot _; do
    driver_steps=$((driver_steps + 1))
    target=${model_size}_ctx${context}_${mode}
    [[ $names == plain ]] || target+=_$precision
    target=$output_dir/${target}_snapshot.pickle
    [[ $state == ok ]] || rm -f "$target"
    if [[ $state == missing ]]; then
      failed "${model_size}_ctx${context}_${mode}_$precision (no result, sweep exit $sweep_status)"
    elif [[ $state != ok ]]; then
      failed "$name ($state)"
    elif [[ ! -f $snapshot ]]; then
      failed "$name (its snapshot '$snapshot' is gone: delete $records and run again)"
    elif ! ln -f "$snapshot" "$target" 2>/dev/null && ! cp "$snapshot" "$target"; then
      failed "${target##*/} (cannot be written)"
    fi
  done
}

# The failures in the JSON lines on stdin, one line per cell; running out of memory is an answer.
other_failures() { python3 -IS "$driver_root/scripts/lib/records/other_failures.py"; }

# The last line, and the exit code.
driver_finish() {
  local count text
  if [[ ${#driver_failures[@]} -eq 0 ]]; then
    count=$(find "$output_dir" -maxdepth 1 -type f ! -name '.*' | wc -l)
    printf '%s done: %d files in %s\n' "$1" "$count" "$output_dir"
    exit 0
  fi
  text=$(printf '%s; ' "${driver_failures[@]}")
  printf 'failed, %d of %d steps: %s\n' "${#driver_failures[@]}" "$driver_steps" "${text%; }"
  exit "$((${#driver_failures[@]} < driver_steps ? 3 : 4))"
}

# run_alone FILE FUNCTION TITLE FLAGS...: the whole script, unless FILE is only being sourced by
# another.
run_alone() {
  local file=$1 function=$2
  [[ $file == "$0" ]] || return 0
  driver_title=$3
  shift 3
  driver_start "$@"
  "$function"
  driver_finish "${function/_/ }" # "part_b" is "part b", "all_parts" is "all parts"
}
