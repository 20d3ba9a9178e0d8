#!/usr/bin/env bash
# Estimates of a training step's peak GPU memory by today's tools, without a GPU, beside headroom's
# virtual GPU and the published measurement of a real card; writes results/estimators/<date>.jsonl
# and .md.
#   studies/estimators/compare_estimators.sh [--tools closed-formula,memtracker-cpu] [--cells ctx512_training_fp32]
#                                 [--output DIR] [--deadline SECONDS] ...   (--help lists all)
# HEADROOM_BIN=PATH uses that headroom program and skips set-up and build.
# Two tools come from PyPI, into build/estimators-venv; one that cannot be installed costs its rows.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 5
program=studies/estimators/compare_estimators.py

case " $* " in *" --help "* | *" -h "* | *" --report"* | *" --list "*) exec python3 "$program" "$@" ;; esac
wanted=$(python3 "$program" --list "$@") || exit

# shellcheck source-path=SCRIPTDIR source=estimators_venv.sh
source studies/estimators/estimators_venv.sh
find_programs || exit
mkdir -p build
for tool in accelerate deepspeed; do
  if [[ "$wanted" == *"$tool"* ]] && make_venv; then install "$tool"; fi
done
exec "$python" "$program" --headroom "$headroom" --venv-python "$PWD/$venv/bin/python" "$@"
