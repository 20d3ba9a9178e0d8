#!/usr/bin/env bash
# Times headroom and its Python peers side by side and writes results/peers/*.jsonl and *.md.
#   studies/peers/compare_peers.sh [--sizes small] [--contexts 128] [--precision fp32] [--rounds 5]
#                            [--peers eager_reference,sdpa_fused,compiled] ...   (--help lists all)
# Nothing else should run on the machine meanwhile: the A/A line of the table shows its noise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

case " $* " in *" --help "* | *" -h "* | *" --report"*) exec python3 studies/peers/compare.py "$@" ;; esac

if [[ -n "${HEADROOM_TORCH_DIR:-}" ]]; then
  python=$(cd "$HEADROOM_TORCH_DIR/../../../.." && pwd)/bin/python
else
  python=$PWD/.venv/bin/python
fi

if [[ ! -x build/release/bin/headroom || ! -x "$python" ]]; then
  scripts/setup.sh
  cmake --build --preset release >&2
fi
exec "$python" studies/peers/compare.py "$@"
