#!/usr/bin/env bats
# studies/host/disk_bench.sh with stand-ins for fio and for the program of the steps.

setup() {
  cd "$BATS_TEST_DIRNAME/../.." || exit
  mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/disk"
  export PATH="$BATS_TEST_TMPDIR/bin:$PATH" HEADROOM_DISK_STEP=$BATS_TEST_TMPDIR/bin/step
  # 100 MiB read and 100 MiB written in a second.
  # shellcheck disable=SC2016
  stand_in fio 'for word; do [[ $word != --output=* ]] || out=${word#*=}; done
    echo "a warning" >"$out"
    echo "{" >>"$out"
    echo "\"jobs\": [{\"error\": 0, \"read\": {\"io_bytes\": 104857600, \"runtime\": 900}," >>"$out"
    echo "\"write\": {\"io_bytes\": 104857600, \"runtime\": 1000}}]}" >>"$out"'
  step_takes 1
}

stand_in() {
  printf '#!/bin/bash\n%s\n' "$2" >"$BATS_TEST_TMPDIR/bin/$1"
  chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

step_takes() { stand_in step "echo '{\"bytes\": 209715200, \"seconds\": $1}'; ${2:-}"; }

@test "as fast as fio is a ratio of 1, exit 0, and nothing is left on the disk" {
  run studies/host/disk_bench.sh "$BATS_TEST_TMPDIR/disk" --rounds 3
  [ "$status" -eq 0 ]
  [[ ${lines[0]} == "io_uring, blocks of 3 MiB, 8 under way"* ]]
  [[ $output == *"    3    200.0    200.0  1.000"* ]]
  [[ $output == *"ratio: median 1.000, "* ]]
  [ -z "$(ls -A "$BATS_TEST_TMPDIR/disk")" ]
}

@test "slower than 0.8 of fio: exit 1" {
  step_takes 1.3
  run studies/host/disk_bench.sh "$BATS_TEST_TMPDIR/disk"
  [ "$status" -eq 1 ]
  [[ $output == *"ratio: median 0.769, "* ]]
}

@test "where the kernel refuses io_uring fio has threads too" {
  step_takes 1 'echo "the kernel refuses io_uring (Operation not permitted): 3 threads read and write" >&2'
  run studies/host/disk_bench.sh "$BATS_TEST_TMPDIR/disk"
  [ "$status" -eq 0 ]
  [[ $output == *"refuses io_uring"* ]]
  [[ $output == *"psync, blocks of"* ]]
}

@test "without fio: one line and exit 5" {
  rm "$BATS_TEST_TMPDIR/bin/fio"
  for tool in bash dirname; do ln -s "$(command -v "$tool")" "$BATS_TEST_TMPDIR/bin/$tool"; done
  PATH=$BATS_TEST_TMPDIR/bin run studies/host/disk_bench.sh "$BATS_TEST_TMPDIR/disk"
  [ "$status" -eq 5 ]
  [ "$output" = "disk_bench.sh: no fio here: apt-get install fio" ]
}

@test "a disk that will not do is the program's line and exit 5" {
  stand_in step 'echo "cannot write /x: No space left on device" >&2; exit 5'
  run studies/host/disk_bench.sh "$BATS_TEST_TMPDIR/disk"
  [ "$status" -eq 5 ]
  [ "$output" = "disk_bench.sh: cannot write /x: No space left on device" ]
}

@test "no directory, a value that is no number, an unknown option: exit 2" {
  run studies/host/disk_bench.sh
  [ "$status" -eq 2 ]
  run studies/host/disk_bench.sh "$BATS_TEST_TMPDIR/disk" --rounds many
  [ "$status" -eq 2 ]
  run studies/host/disk_bench.sh "$BATS_TEST_TMPDIR/disk" --depth 3
  [ "$status" -eq 2 ]
}
