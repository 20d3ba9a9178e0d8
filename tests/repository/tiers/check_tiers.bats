#!/usr/bin/env bats
# The check of tiers can fail: each test gives it a CTest that lists a few tests, one of them wrong.

setup() {
  check=$BATS_TEST_DIRNAME/check_tiers.py
  cd "$BATS_TEST_TMPDIR" || return
  cat >ctest <<'EOF'
#!/usr/bin/env bash
case "$*" in
*nightly*) printf '{"tests":[%s]}' "$(cat in_ci at_night | paste -sd,)" ;;
*) printf '{"tests":[%s]}' "$(<in_ci)" ;;
esac
EOF
  chmod +x ctest
  of quick '"unit","pr"' 60 >in_ci
  of wide '"nightly"' 600 >at_night
}

# A test by its name, labels and TIMEOUT.
of() {
  printf '{"name":"%s","properties":[{"name":"LABELS","value":[%s]},{"name":"TIMEOUT","value":%s}]}\n' "$@"
}

rejects() {
  run python3 "$check" "$PWD/ctest" build
  [ "$status" -eq 1 ]
  [[ "$output" == *"$1"* ]] || { echo "$output" && false; }
}

@test "tests with a tier and a TIMEOUT pass" {
  run python3 "$check" "$PWD/ctest" build
  [ "$status" -eq 0 ]
  [ "$output" = "1 tests in pr, 1 more in nightly" ]
}

@test "a test without a TIMEOUT fails" {
  echo '{"name":"quick","properties":[{"name":"LABELS","value":["pr"]}]}' >in_ci
  rejects 'quick: a TIMEOUT of 0 s'
}

@test "a TIMEOUT that is longer than CI waits fails" {
  of quick '"pr"' 1500 >in_ci
  rejects 'quick: a TIMEOUT of 1500 s'
}

@test "a test without a tier, with both or with the other one fails" {
  of quick '"unit"' 60 >in_ci
  rejects 'quick: its tier is none, and it runs as pr'
  of quick '"pr","nightly"' 60 >in_ci
  rejects 'quick: its tier is nightly, pr, and it runs as pr'
  of quick '"nightly"' 60 >in_ci
  rejects 'quick: its tier is nightly, and it runs as pr'
}

@test "a nightly test that says pr, or unit, fails" {
  of wide '"pr"' 60 >at_night
  rejects 'wide: its tier is pr, and it runs as nightly'
  of wide '"unit","nightly"' 60 >at_night
  rejects 'wide: unit, and CI does not run it'
}

@test "no nightly test at all fails" {
  : >at_night
  rejects '1 tests in pr, 0 more in nightly'
}
