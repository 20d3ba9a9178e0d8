#!/usr/bin/env bash
# Estimates by tools of the peak GPU memory of sharded training (FSDP2, ZeRO-2, ZeRO-3), beside what the
# program itself takes on the virtual card; writes results/estimators/sharded_<date>.jsonl and .md.
#   studies/estimators/compare_sharded_estimators.sh [--tools headroom-dryrun,deepspeed-all-live]
#                                         [--cells fsdp2_1.3B_8ranks] [--output DIR]
#                                         [--deadline SECONDS] ...   (--help lists all)
# HEADROOM_BIN=PATH uses that headroom program and skips set-up and build. DeepSpeed comes from PyPI,
# into build/estimators-venv; where it cannot be installed ZeRO's rows say so. MEGATRON_LM=DIR is a
# checkout of NVIDIA/Megatron-LM at core_v0.16.1, its data set helper built; PYTHONPATH lends what it
# imports (see studies/megatron/compare_distributed.sh).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 5
program=studies/estimators/sharded/compare_sharded.py

case " $* " in *" --help "* | *" -h "* | *" --report"* | *" --list "*) exec python3 "$program" "$@" ;; esac
python3 "$program" --list "$@" >/dev/null || exit
# shellcheck source-path=SCRIPTDIR source=estimators_venv.sh
source studies/estimators/estimators_venv.sh
find_programs || exit
mkdir -p build
make_venv || exit 5
install deepspeed
exec "$python" "$program" --headroom "$headroom" --venv-python "$PWD/$venv/bin/python" "$@"
