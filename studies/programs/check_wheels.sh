#!/usr/bin/env bash
# Runs programs under `headroom dryrun` in PyTorch wheels as PyPI has them, each with its own CUDA, and writes
# what became of each: wheels.jsonl and wheels.md.
#   check_wheels.sh [--output-dir DIR] [--remove] VERSION...     e.g. 2.8.0 2.11.0
#   check_wheels.sh --smoke VERSION...                           one program of each, writes nothing
#     A version that .venv has not is installed into build/wheels/torch-VERSION (5 to 8 GB, once). Its row stands
#     beside those that DIR (results/virtual) holds already. --remove: deletes each environment after its runs.
#     --smoke: a version that is not installed within 150 s is left out, with a line.
# Exit codes: 0 every program ran or was refused, 2 usage, 3 some did not, 5 headroom is not built or a
# version cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/usage.sh
source scripts/lib/usage.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/torch_environment.sh
source scripts/lib/torch_environment.sh
output_dir=results/virtual
remove=no
columns=()
versions=()
seconds=3600
help_asked "${1:-}"
while [[ $# -gt 0 ]]; do
  case $1 in
    --output-dir)
      [[ -n ${2:-} ]] || { printf '%s needs a value\n' "$1" >&2 && exit 2; }
      output_dir=$2
      shift 2
      ;;
    --remove)
      remove=yes
      shift
      ;;
    --smoke)
      columns=("decoder, BF16")
      seconds=150
      shift
      ;;
    [0-9]*.[0-9]*)
      versions+=("$1")
      shift
      ;;
    *) printf "check_wheels.sh: unknown argument '%s' (allowed: --output-dir, --remove, --smoke, versions such as 2.8.0)\n" "$1" >&2 && exit 2 ;;
  esac
done
[[ ${#versions[@]} -gt 0 ]] || { printf 'check_wheels.sh: which versions? (such as 2.8.0 2.11.0)\n' >&2 && exit 2; }
if [[ ${#columns[@]} -gt 0 ]]; then
  output_dir=$(mktemp -d)
  trap 'rm -rf "$output_dir"' EXIT
fi
need_headroom
status=0

for version in "${versions[@]}"; do
  if ! python=$(torch_python "$version" "$seconds"); then
    printf 'check_wheels.sh: torch %s is not installed (no network, no wheel for this Python, no space, or over %s s)\n' \
      "$version" "$seconds" >&2
    [[ ${#columns[@]} -gt 0 ]] || exit 5
    continue
  fi
  python3 studies/programs/wheels.py run "$headroom" "$python" "$output_dir/wheels.jsonl" "${columns[@]}" || status=$?
  [[ $remove == no ]] || remove_torch "$version"
done
[[ ${#columns[@]} -gt 0 ]] || python3 studies/programs/wheels.py table "$output_dir/wheels.jsonl" >"$output_dir/wheels.md"
exit "$status"
