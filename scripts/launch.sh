#!/usr/bin/env bash
# A step on the ranks of several machines: runs this machine's share of them, by torchrun.
#   launch.sh --nproc N [--nnodes N --node-rank N --rdzv HOST:PORT] -- --mesh dp=8 --model-size small ...
# The same command on every machine, each with its own --node-rank; --rdzv is machine 0's address and
# a free port of it. --nproc: ranks on each machine. Behind -- the flags of headroom profile, the
# same on every machine.
# On stdout one Record a line of each rank of this machine, in their order; on stderr what they say,
# of a rank that fails one line with its number and why. HEADROOM_BIN, HEADROOM_PYTHON: other programs.
# Exit codes: 0 all ranks of this machine ran, 2 usage, 4 one did not, 5 not built, 130 interrupted.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=lib/usage.sh
source "$root/scripts/lib/usage.sh"
help_asked "${1:-}"

fail() { # CODE WORDS...
  printf 'launch.sh: %s\n' "${*:2}" >&2
  exit "$1"
}

# How many ranks the --mesh among these flags has; nothing where there is none that headroom takes.
ranks_of_mesh() {
  local mesh='' size ranks=1
  while [[ $# -gt 0 ]]; do
    [[ $1 == --mesh ]] && mesh=${2:-}
    [[ $1 == --mesh=* ]] && mesh=${1#--mesh=}
    shift
  done
  for size in ${mesh//,/ }; do
    [[ $size =~ =([0-9]{1,6})$ ]] || return
    ranks=$((ranks * 10#${BASH_REMATCH[1]}))
  done
  printf '%d\n' "$ranks"
}

nnodes=1 node_rank=0 rdzv='' nproc=''
while [[ $# -gt 0 && $1 != -- ]]; do
  case $1 in
    --nnodes | --node-rank | --nproc)
      [[ ${2:-} =~ ^[0-9]{1,6}$ ]] || fail 2 "$1 '${2:-}' is no number; allowed: a whole number (example: $1 1)"
      ;;
    --rdzv)
      [[ ${2:-} =~ ^[^:]+:[0-9]{1,5}$ ]] || fail 2 "$1 '${2:-}' is no HOST:PORT (example: --rdzv 10.0.0.1:29500)"
      ;;
    *) fail 2 "unknown option '$1' (allowed: --nnodes, --node-rank, --rdzv, --nproc, then -- and the flags of" \
      "headroom profile; example: --nproc 2 -- --mesh dp=2 --model-size small)" ;;
  esac
  given_once "$1"
  case $1 in
    --nnodes) nnodes=$2 ;;
    --node-rank) node_rank=$2 ;;
    --nproc) nproc=$2 ;;
    --rdzv) rdzv=$2 ;;
  esac
  shift 2
done
[[ ${1:-} == -- && $# -gt 1 ]] ||
  fail 2 "nothing to run (example: --nproc 2 -- --mesh dp=2 --model-size small --device cpu)"
shift
[[ -n $nproc && $nproc -gt 0 ]] || fail 2 "--nproc '$nproc' is not the number of ranks of this machine; allowed: 1 or more (example: --nproc 8)"
[[ $nnodes -gt 0 && $node_rank -lt $nnodes ]] ||
  fail 2 "--node-rank '$node_rank' is not one of $nnodes machines, which count from 0 (example: --nnodes 2 --node-rank 1)"
[[ $nnodes -eq 1 || -n $rdzv ]] ||
  fail 2 "--rdzv '' is empty; allowed: the HOST:PORT of machine 0, the same on all machines (example: --rdzv 10.0.0.1:29500)"

headroom=${HEADROOM_BIN:-$root/build/release/bin/headroom}
python=${HEADROOM_PYTHON:-$root/.venv/bin/python3}
[[ -x $headroom ]] || fail 5 "$headroom is not built: ./scripts/run_all.sh builds it"
[[ -x $python ]] || fail 5 "$python is not there: ./scripts/setup.sh installs it"
# Settings that no rank accepts are refused once, not by each rank.
"$headroom" sweep "$@" --dry-run >/dev/null || exit
ranks=$(ranks_of_mesh "$@")
[[ -z $ranks || $ranks -eq $((nnodes * nproc)) ]] ||
  fail 2 "--mesh has $ranks ranks, and $nnodes machines with --nproc $nproc are $((nnodes * nproc))" \
    "(example: --nproc 2 -- --mesh dp=$((2 * nnodes)))"

if [[ -z ${OMP_NUM_THREADS:-} ]]; then # as headroom shares a machine out
  threads=$(($(nproc) / nproc))
  export OMP_NUM_THREADS=$((threads > 0 ? threads : 1))
fi
records=$(mktemp -d) || exit 5
trap 'rm -rf "$records"' EXIT
if [[ -n $rdzv ]]; then
  where=(--nnodes "$nnodes" --node-rank "$node_rank" --master-addr "${rdzv%:*}" --master-port "${rdzv##*:}")
else
  where=(--standalone)
fi
# shellcheck disable=SC2016  # the rank's own shell has its RANK
HEADROOM_LAUNCHED=1 "$python" "$root/scripts/lib/torchrun.py" "${where[@]}" --nproc-per-node "$nproc" \
  --max-restarts 0 --log-dir "$records/torchrun" \
  --no-python bash -c 'exec "$@" >"$0/$RANK"' "$records" "$headroom" profile "$@" --format json &
launcher=$!
trap 'kill -TERM "$launcher" 2>/dev/null' INT TERM
wait "$launcher"
status=$?
while kill -0 "$launcher" 2>/dev/null; do # a signal ends the first wait, not torchrun
  wait "$launcher"
  status=$?
done
for ((rank = node_rank * nproc; rank < (node_rank + 1) * nproc; rank++)); do
  if [[ -s $records/$rank ]]; then
    cat "$records/$rank"
  else
    printf 'rank %d: no Record: stopped after another rank had failed, or not started\n' "$rank" >&2
  fi
done
exit "$status"
