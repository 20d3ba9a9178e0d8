#!/usr/bin/env bats
# The layer check can fail: each test gives it a small tree with one thing wrong.

setup() {
  check=$BATS_TEST_DIRNAME/check_layers.py
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree"/{model,train,profiling,bench,virtual_gpu,tests}
  printf '// No torch here.\n#include <string>\n' >"$tree/model/config.h"
  printf '#include <torch/torch.h>\n#include "model/config.h"\n' >"$tree/model/layers.h"
  printf '// No torch here.\n#include "model/config.h"\n' >"$tree/train/spec.h"
  printf '#include "train/spec.h"\n#include <vector>\n' >"$tree/train/spec.cpp"
  printf '#include "bench/none.h"\n' >"$tree/tests/spec_test.cpp"
}

rejects() {
  run python3 "$check" "$tree"
  [ "$status" -eq 1 ]
  [[ "$output" == *"$1"* ]] || { echo "$output" && false; }
  [ "${#lines[@]}" -eq 1 ]
}

@test "a forward tree passes" {
  run python3 "$check" "$tree"
  [ "$status" -eq 0 ]
}

@test "a backward include fails" {
  printf '#include "train/spec.h"\n' >>"$tree/model/config.h"
  rejects 'model/config.h: model must not include "train/spec.h"'
}

@test "nothing includes the virtual card, and it includes nothing of ours" {
  printf '#pragma once\n' >"$tree/virtual_gpu/device.h"
  printf '#include "virtual_gpu/device.h"\n' >"$tree/bench/run.cpp"
  rejects 'bench/run.cpp: bench must not include "virtual_gpu/device.h"'
  rm "$tree/bench/run.cpp"
  printf '#include "model/config.h"\n' >>"$tree/virtual_gpu/device.h"
  rejects 'virtual_gpu/device.h: virtual_gpu must not include "model/config.h"'
}

@test "torch in a torch-free header fails" {
  printf '#include <ATen/ATen.h>\n' >>"$tree/train/spec.h"
  run python3 "$check" "$tree"
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "train/spec.cpp: says 'No torch here.' and reaches train/spec.h -> ATen/ATen.h" ]]
  [[ "${lines[1]}" == "train/spec.h: says 'No torch here.' and reaches ATen/ATen.h" ]]
}

@test "torch reached through another header of ours fails" {
  printf '#include "model/layers.h"\n' >>"$tree/train/spec.cpp"
  rejects "train/spec.cpp: says 'No torch here.' and reaches model/layers.h -> torch/torch.h"
}

@test "an include that is not named from the root fails" {
  printf '#include "spec.h"\n' >>"$tree/train/spec.cpp"
  rejects 'train/spec.cpp: "spec.h" is not a file of ours'
}

@test "folders and files whose name says nothing fail" {
  mkdir "$tree/train/utils"
  rejects 'train/utils: the name says nothing'
  rmdir "$tree/train/utils"
  touch "$tree/scripts_common.txt" "$tree/tests/common.cpp"
  rejects 'tests/common.cpp: the name says nothing'
}

@test "sources outside the rooms fail" {
  mkdir "$tree/extra"
  touch "$tree/extra/a.cpp"
  rejects "extra/a.cpp: 'extra' is not a room"
}

@test "<filesystem> in what may be linked beside libtorch fails" {
  mkdir -p "$tree"/bench/{sweep,dryrun}
  printf '#include <filesystem>\n' | tee "$tree/bench/dryrun/a.cpp" >"$tree/bench/sweep/b.cpp"
  rejects 'bench/sweep/b.cpp: includes <filesystem>'
}

@test "a folder of many things fails; a header and its source are one, and so is a series" {
  touch "$tree"/train/file{a..n}.{h,cpp} "$tree"/train/part_{a..e}.sh
  run python3 "$check" "$tree"
  [ "$status" -eq 0 ]
  touch "$tree/train/one_more.h"
  rejects 'train: shows 17 things'
}
