#!/usr/bin/env bats
# scripts/upkeep/refresh.sh in a small repository of its own, with a stand-in for each study.

setup() {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree/scripts/upkeep" "$tree/studies/planning" "$tree/studies/published" "$tree/build/release/bin" \
    "$tree/build/release/lib" "$tree/results/published" "$tree/docs"
  cp "$BATS_TEST_DIRNAME/../../../scripts/upkeep/refresh.sh" "$tree/scripts/upkeep/"
  for study in planning/plan_tables published/compare_anchors published/compare_published \
    published/compare_mesh_figures reference_results; do
    printf '#!/bin/sh\necho "ran %s $*"\n' "$study" >"$tree/studies/$study.sh"
  done
  for script in readme_outputs update_docs; do printf '#!/bin/sh\necho "ran %s"\n' "$script" >"$tree/scripts/upkeep/$script.sh"; done
  chmod +x "$tree"/studies/*.sh "$tree"/studies/*/*.sh "$tree"/scripts/upkeep/*.sh
  touch "$tree"/build/release/{bin/headroom,bin/headroom-cell,lib/libvirtual_gpu.so} "$tree/README.md"
  echo '{}' >"$tree/results/published/planning_anchors.json"
  git -C "$tree" init -q
  git -C "$tree" add scripts studies results
}

refresh() { run "$tree/scripts/upkeep/refresh.sh" "$@"; }

@test "every table is made once, and the documents after them" {
  refresh
  [ "$status" -eq 0 ]
  [[ "$output" == *"ran planning/plan_tables"*"ran reference_results fit"*"ran readme_outputs"*"ran update_docs"* ]]
  refresh
  [ "$status" -eq 0 ]
  [[ "$output" != *ran* ]]
  [ "$(grep -c current <<<"$output")" -eq 6 ]
}

@test "another program makes all of them stale, another published figure its own table" {
  refresh
  echo '{"more": 1}' >"$tree/results/published/planning_anchors.json"
  refresh --list
  [ "$(grep -c stale <<<"$output")" -eq 1 ]
  [[ "$output" == *"anchors    stale"* ]]
  echo other >"$tree/build/release/bin/headroom"
  refresh --list
  [ "$(grep -c stale <<<"$output")" -eq 6 ]
  [[ "$output" != *ran* ]]
}

@test "a study that fails is named, stays stale and does not cost the others" {
  printf '#!/bin/sh\nexit 3\n' >"$tree/studies/published/compare_published.sh"
  refresh
  [ "$status" -eq 3 ]
  [[ "$output" == *"published  failed, exit code 3"*"ran readme_outputs"* ]]
  refresh --list
  [ "$(grep -c stale <<<"$output")" -eq 1 ]
}

@test "one table alone, current or not" {
  refresh --all planning
  refresh --all planning
  [[ "$output" == *"ran planning/plan_tables"* ]]
  [[ "$output" != *reference_results* ]]
}

@test "what it does not know is refused with what is allowed, and runs nothing" {
  refresh plans
  [ "$status" -eq 2 ]
  [[ "$output" == *"'plans'"*"allowed: planning anchors fit"*"example:"* ]]
  refresh --fast
  [ "$status" -eq 2 ]
  [[ "$output" == *"'--fast'"*"example:"* ]]
  rm "$tree/build/release/bin/headroom"
  refresh
  [ "$status" -eq 5 ]
}
