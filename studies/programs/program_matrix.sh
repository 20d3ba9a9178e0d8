#!/usr/bin/env bash
# Runs distributed programs of PyTorch and of the libraries above it, unmodified, under `headroom dryrun`
# and writes what became of each: programs.jsonl and programs.md.
#   program_matrix.sh [--output-dir DIR] [--rows NAME,...] [--most-together N]
#     DIR is results/virtual. Rows whose packages Python does not find are said and left as they are:
#     PYTHONPATH=DIR:... lends packages that lie elsewhere.
# Exit codes: 0 every row works, 2 usage, 3 some do not, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/usage.sh
source scripts/lib/usage.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
output_dir=results/virtual
help_asked "${1:-}"
options=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --rows | --most-together)
      [[ -n ${2:-} ]] || { printf '%s needs a value\n' "$1" >&2 && exit 2; }
      given_once "$1"
      options+=("$1" "$2")
      shift 2
      ;;
    --output-dir)
      [[ -n ${2:-} ]] || { printf '%s needs a value\n' "$1" >&2 && exit 2; }
      given_once "$1"
      output_dir=$2
      shift 2
      ;;
    *) printf "program_matrix.sh: unknown argument '%s' (allowed: --output-dir, --rows, --most-together)\n" "$1" >&2 && exit 2 ;;
  esac
done
need_headroom
if [[ -n "${HEADROOM_TORCH_DIR:-}" ]]; then
  python=$(cd "$HEADROOM_TORCH_DIR/../../../.." && pwd)/bin/python
else
  python=$PWD/.venv/bin/python
fi
exec "$python" studies/programs/program_matrix.py --headroom "$(realpath "$headroom")" --output-dir "$output_dir" "${options[@]}"
