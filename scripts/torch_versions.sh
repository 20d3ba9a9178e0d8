#!/usr/bin/env bash
# The cost in memory of an upgrade of PyTorch: one step of the 2.7B model (the assignment's own operations in Python, and
# the same with scaled_dot_product_attention) on a virtual card, under each version.
#   torch_versions.sh [--card NAME] [--output-dir DIR] [--remove] [VERSION...]
#     VERSION  e.g. 2.12.1; default: 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0
#     DIR      gets VERSION.jsonl, and versions.md of all versions in it; default: results/torch_versions
#     --remove removes an environment that it installed, after its run
# A version is installed from PyPI into build/wheels when it is first wanted (5 GB), one after another.
# Exit codes: 0 every version ran, 2 usage, 3 some cells failed, 5 headroom is not built, or a version cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source-path=SCRIPTDIR source=lib/usage.sh
source scripts/lib/usage.sh
# shellcheck source-path=SCRIPTDIR source=lib/table_files.sh
source scripts/lib/table_files.sh
# shellcheck source-path=SCRIPTDIR source=lib/torch_environment.sh
source scripts/lib/torch_environment.sh
help_asked "${1:-}"
card=h200
output_dir=results/torch_versions
is_removed=false
versions=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --card | --output-dir)
      [[ -n ${2:-} ]] || { printf '%s needs a value\n' "$1" >&2 && exit 2; }
      given_once "$1"
      if [[ $1 == --card ]]; then card=$2; else output_dir=$2; fi
      shift 2
      ;;
    --remove) is_removed=true && shift ;;
    [0-9]*.[0-9]*.[0-9]*) versions+=("$1") && shift ;;
    *) printf "torch_versions.sh: unknown argument '%s' (allowed: --card, --output-dir, --remove, versions such as 2.15.0)\n" "$1" >&2 && exit 2 ;;
  esac
done
[[ ${#versions[@]} -gt 0 ]] || versions=(2.11.0 2.12.1 2.13.0 2.14.1 2.15.0)
need_headroom

status=0
for version in "${versions[@]}"; do
  python=$(torch_python "$version") || exit 5
  if [[ ! -d build/release/lib/torch-${version%.*} ]]; then
    scripts/torch_libraries.sh "$python" >/dev/null || printf 'torch %s: no uses of the memory\n' "$version" >&2
  fi
  python3 -IS scripts/lib/records/torch_versions.py run "$headroom" "$python" "$card" | into "$version.jsonl" || status=3
  [[ $is_removed == false ]] || remove_torch "$version"
done
python3 -IS scripts/lib/records/torch_versions.py table "$output_dir"/*.jsonl | into versions.md
cat "$output_dir/versions.md"
exit "$status"
