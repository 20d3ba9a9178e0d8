#!/usr/bin/env bash
# Runs an iteration of PPO with the memory techniques of one of three presets (scripts/presets), and
# whatever flags follow, which win over the preset's.
#   run_memory_optimized_ppo.sh [--preset NAME] [flags of headroom ppo, or rlhf]
#   MODEL_SIZE=2.7B PRESET=balanced run_memory_optimized_ppo.sh --batch-size 8
# Presets: memory_constrained (default), balanced; multi_gpu_70b is a plan of many GPUs, computed
# (headroom rlhf) and not run.
# In the environment: MODEL_SIZE (default 7b; of the plan 70b), PRESET, DEVICE (default cuda where
# there is a card, else virtual:h100-80gb), PROMPT_LEN and RESPONSE_LEN (default 512), BATCH_SIZE
# (default 8, sequences), HEADROOM_BIN. A setting that is not given is not passed on to the plan.
# Exit codes: those of headroom; 2 usage, 5 headroom is not built.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=lib/usage.sh
source "$root/scripts/lib/usage.sh"
help_asked "${1:-}"

fail() {
  printf '%s: %s\n' "${0##*/}" "$2" >&2
  exit "$1"
}

preset=${PRESET:-memory_constrained}
flags=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --preset | --preset=*) given_once --preset ;;
  esac
  case $1 in
    --preset)
      [[ $# -ge 2 ]] || fail 2 "--preset needs a name (example: --preset balanced)"
      preset=$2
      shift
      ;;
    --preset=*) preset=${1#*=} ;;
    *) flags+=("$1") ;;
  esac
  shift
done

presets=()
for path in "$root"/scripts/presets/*.json; do
  path=${path##*/}
  presets+=("${path%.json}")
done
setup=$root/scripts/presets/$preset.json
[[ -f $setup && $preset != */* ]] ||
  fail 2 "--preset: '$preset' is no preset; allowed: ${presets[*]} (example: --preset balanced)"
headroom=${HEADROOM_BIN:-$root/build/release/bin/headroom}
[[ -x $headroom ]] || fail 5 "$headroom is not built: ./scripts/setup.sh && cmake --build --preset release"

# given FLAG VALUE...: before what was typed, where it was not typed there.
given=()
give() {
  local flag
  [[ -n $2 ]] || return 0
  for flag in "${flags[@]}"; do
    [[ $flag != "$1" && $flag != "$1="* ]] || return 0
  done
  given+=("$1" "$2")
}

if [[ $preset == multi_gpu_70b ]]; then
  give --model-size "${MODEL_SIZE:-}"
  give --batch-size "${BATCH_SIZE:-}"
  give --prompt-len "${PROMPT_LEN:-}"
  give --response-len "${RESPONSE_LEN:-}"
  exec "$headroom" rlhf --setup "$setup" "${given[@]}" "${flags[@]}"
fi
device=virtual:h100-80gb
if nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then device=cuda; fi
give --model-size "${MODEL_SIZE:-7b}"
give --device "${DEVICE:-$device}"
give --prompt-len "${PROMPT_LEN:-512}"
give --response-len "${RESPONSE_LEN:-512}"
give --batch-size "${BATCH_SIZE:-8}"
exec "$headroom" ppo --setup "$setup" "${given[@]}" "${flags[@]}"
