# shellcheck shell=bash
# Sourced by the tests that run a program of ours: a folder that is gone afterwards, failures that are
# counted and do not stop the rest.

# begin PROGRAM: from here on in an empty folder, with `out` and `err` of the last run in it.
begin() {
  program=$(realpath "$1")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work" || exit 1
  failures=0
}

fail() {
  printf 'FAILED: %s\n' "$1"
  [[ -s err ]] && sed 's/^/  stderr: /' err
  failures=$((failures + 1))
}

# expect CODE PATTERN ARGUMENTS...: the exit code, a pattern in stderr, and for bad usage exactly one
# line there, beginning with the program's name, and nothing on stdout.
expect() {
  local code=$1 pattern=$2 name=${program##*/} got
  shift 2
  "$program" "$@" >out 2>err
  got=$?
  [[ $got -eq $code ]] || fail "exit $got, not $code: $name $*"
  [[ -z $pattern ]] || grep -qE -- "$pattern" err || fail "stderr lacks '$pattern': $name $*"
  if [[ $code -eq 2 ]]; then
    [[ $(wc -l <err) -eq 1 ]] || fail "not one line: $name $*"
    [[ ! -s out ]] || fail "something on stdout: $name $*"
    grep -q "^$name: " err || fail "the line does not begin with $name: $name $*"
  fi
}

# The last command of a test.
finish() {
  [[ $failures -eq 0 ]] && echo 'all passed'
  exit $((failures > 0))
}
