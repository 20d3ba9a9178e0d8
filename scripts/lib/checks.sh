# shellcheck shell=bash
# Checks that go on after one of them failed; sourced.
failed=()

# check NAME COMMAND...: runs it; where it fails, NAME joins `failed`.
check() {
  local name=$1
  shift
  printf '== %s\n' "$name"
  "$@" || failed+=("$name")
}

names_of_failed() { printf '%s, ' "${failed[@]}" | sed 's/, $//'; }
