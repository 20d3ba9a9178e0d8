#!/usr/bin/env bash
# Makes the committed tables again that a change of the program may have made stale, and fills the
# documents from them. A table is stale where the program, its study or its published figures are not
# those that made it the last time on this machine.
#   refresh.sh [--all] [--list] [NAME...]   NAMEs default to every table
#     --all    those that are current as well
#     --list   says which are stale, and makes nothing
# Not among them: studies that install packages or need a checkout of somebody's program (studies/published/compare_litgpt.sh,
# studies/programs/). Their tables hold until those programs are run again.
# Exit codes: 0 all are current now, 2 usage, 3 a study failed, 5 headroom is not built.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 5

# NAME, what it is made from besides the program, and its command.
studies=(
  'planning|studies/planning|studies/planning/plan_tables.sh'
  'anchors|studies/published results/published/planning_anchors.json|studies/published/compare_anchors.sh'
  'fit|studies/reference_results.sh scripts|studies/reference_results.sh fit'
  'published|studies/published results/published/a800_cs336.json|studies/published/compare_published.sh'
  'meshes|studies/published results/published/mesh_figures.json|studies/published/compare_mesh_figures.sh'
  'outputs|scripts/upkeep/readme_outputs.sh|scripts/upkeep/readme_outputs.sh'
)
programs=(build/release/bin/headroom build/release/bin/headroom-cell build/release/lib/libvirtual_gpu.so)

refuse() {
  printf 'refresh.sh: %s\n' "$1" >&2
  exit 2
}

# fingerprint FILE_OR_FOLDER...: of what is in them and in the program.
fingerprint() {
  { git ls-files -z --cached --others --exclude-standard -- "$@" && printf '%s\0' "${programs[@]}"; } |
    xargs -0 sha256sum | sha256sum
}

known_names=()
for study in "${studies[@]}"; do known_names+=("${study%%|*}"); done
all=0
only_lists=0
names=()
for word; do
  case $word in
    --all) all=1 ;;
    --list) only_lists=1 ;;
    -*) refuse "unknown option '$word' (allowed: --all, --list; example: refresh.sh --all planning)" ;;
    *)
      [[ " ${known_names[*]} " == *" $word "* ]] ||
        refuse "unknown table '$word' (allowed: ${known_names[*]}; example: refresh.sh planning)"
      names+=("$word")
      ;;
  esac
done
[[ ${#names[@]} -gt 0 ]] || names=("${known_names[@]}")
for program in "${programs[@]}"; do
  [[ -e $program ]] || { printf '%s is not built: ./scripts/run_all.sh builds it\n' "$program" >&2 && exit 5; }
done

stamps=build/refreshed
mkdir -p "$stamps"
status=0
made=0
for study in "${studies[@]}"; do
  IFS='|' read -r name sources command <<<"$study"
  [[ " ${names[*]} " == *" $name "* ]] || continue
  read -ra sources <<<"$sources"
  read -ra command <<<"$command"
  now=$(fingerprint "${sources[@]}") || exit 5
  if [[ $all -eq 0 && -e $stamps/$name && $(<"$stamps/$name") == "$now" ]]; then
    printf '%-10s current\n' "$name"
    continue
  fi
  printf '%-10s stale: %s\n' "$name" "${command[*]}"
  [[ $only_lists -eq 0 ]] || continue
  if "${command[@]}"; then
    printf '%s\n' "$now" >"$stamps/$name"
    made=1
  else
    printf '%-10s failed, exit code %d\n' "$name" $? >&2
    status=3
  fi
done
[[ $made -eq 0 ]] || scripts/upkeep/update_docs.sh || status=3
[[ $only_lists -eq 1 ]] || git status --short -- results README.md docs
exit "$status"
