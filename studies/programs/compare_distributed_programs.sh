#!/usr/bin/env bash
# Runs other people's programs of several ranks, unmodified and all ranks beside each other, on virtual cards, and prints
# the peaks that they published beside those that they print here.
#   compare_distributed_programs.sh [--output-dir DIR] CHECKOUT...   CHECKOUTs: of repositories that
#                                                                    results/published/distributed_programs.json names;
#                                                                    DIR (default results/virtual) gets distributed_OWNER.json of
#                                                                    each, and distributed_programs.md of all
# PYTHON (default .venv/bin/python) has torch and what they import: einops einx==0.3.0 jaxtyping pandas tabulate; that of
# gnovack deepspeed==0.9.2 transformers==4.29.2 tokenizers==0.13.3 'pydantic<2' 'numpy<2', that of Lightning
# lightning==2.1.4; PYTHONPATH can lend them. TORCH=2.6.0: runs them under that version, installed into build/wheels, and adds
# its figures to those of DIR. Objects that ranks gather then go through their store (gather_by_store.py).
# Exit codes: 0 they ran, 2 usage, 3 some failed, 5 headroom is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/table_files.sh
source scripts/lib/table_files.sh
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/torch_environment.sh
source scripts/lib/torch_environment.sh
# shellcheck source-path=SCRIPTDIR source=distributed_short.sh
source studies/programs/distributed_short.sh
output_dir=results/virtual
published=results/published/distributed_programs.json
read_checkouts "$@"
need_headroom
headroom=$(realpath "$headroom")
python=$(realpath -s "${PYTHON:-.venv/bin/python}")
[[ -z ${TORCH:-} ]] || python=$(torch_python "$TORCH") || exit 5
owners() { python3 -IS -c 'import json, sys
print(*(program["repository"].split("/")[0] for program in json.load(open(sys.argv[1]))["programs"]), sep="\n")' "$published"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for checkout in "${checkouts[@]}"; do
  python3 -IS studies/programs/distributed_programs.py find "$published" "$checkout" >"$work/found"
done
status=0
for checkout in "${checkouts[@]}"; do
  older=()
  owner=$(python3 -IS studies/programs/distributed_programs.py find "$published" "$checkout") && owner=${owner%%/*}
  [[ -z ${TORCH:-} ]] || older=("$TORCH" "$output_dir/distributed_$owner.json")
  if python3 -S studies/programs/distributed_programs.py run "$published" "$headroom" "$python" "$checkout" "${older[@]}" >"$work/ours"; then
    into "distributed_$owner.json" <"$work/ours"
  else
    status=3
  fi
done
ours=()
while read -r owner; do
  [[ ! -s $output_dir/distributed_$owner.json ]] || ours+=("$output_dir/distributed_$owner.json")
done < <(owners)
[[ ${#ours[@]} -gt 0 ]] || exit "$status"
python3 -S studies/programs/distributed_programs.py table "$published" "${ours[@]}" | into distributed_programs.md
write_distributed_short
cat "$output_dir/distributed_programs.md"
exit "$status"
