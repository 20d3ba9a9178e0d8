# shellcheck shell=bash
# Sourced by the tests that run a program of ours: a folder that is gone afterwards, failures that are
# counted and do not stop the rest.

# begin PROGRAM [CELL]: from here on in an empty folder, with `out` and `err` of the last run in it. CELL runs
# the program's cells.
begin() {
  program=$(realpath "$1")
  if (($# > 1)); then
    HEADROOM_CELL=$(realpath "$2")
    export HEADROOM_CELL
  fi
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work" || exit 1
  failures=0
  declare -gA tried=()  # examples
}

fail() {
  printf 'FAILED: %s\n' "$1"
  [[ -s err ]] && sed 's/^/  stderr: /' err
  failures=$((failures + 1))
}

# matches PATTERN LINE...: whether one of the lines does.
matches() {
  local pattern=$1 line
  shift
  for line; do [[ ! $line =~ $pattern ]] || return 0; done
  return 1
}

# expect CODE PATTERN ARGUMENTS...: the exit code, a pattern in stderr, and for bad usage exactly one
# line there, beginning with the program's name, and nothing on stdout.
expect() {
  local code=$1 pattern=$2 name=${program##*/} got lines
  shift 2
  "$program" "$@" >out 2>err
  got=$?
  [[ $got -eq $code ]] || fail "exit $got, not $code: $name $*"
  mapfile -t lines <err
  [[ -z $pattern ]] || matches "$pattern" "${lines[@]}" || fail "stderr lacks '$pattern': $name $*"
  if [[ $code -eq 2 ]]; then
    [[ ${#lines[@]} -eq 1 ]] || fail "not one line: $name $*"
    [[ ! -s out ]] || fail "something on stdout: $name $*"
    [[ ${lines[0]:-} == "$name: "* ]] || fail "the line does not begin with $name: $name $*"
    [[ $name != headroom ]] || try_example "${1:-}"
  fi
}

# complete_example COMMAND: adds to words the flags that this command needs beside those of example.
complete_example() {
  case $1 in
    profile | sweep | theory)
      [[ $example == *--model-size* ]] || words+=(--model-size small)
      # Settings of gradients are refused in the default mode.
      [[ $example == *--profile-type* ]] || words+=(--profile-type training)
      [[ $example != *--param-offload* || $example == *--profile-type* ]] ||
        words+=(--optimizer-offload cpu)
      [[ $example != *--kernels* || $example == *--device* ]] || words+=(--device cpu)
      ;;
    fit)
      [[ $example == *--card* ]] || words+=(--card rtx4090)
      if [[ $example == *--vary* ]]; then
        words+=(-- true '{batch}')
      else
        [[ $example == *--model-size* ]] || words+=(--model-size small)
        # One technique is enough to try, and none that the example forbids.
        if [[ $example == *--forbid* ]]; then
          words+=(--allow optimizer-impl)
        elif [[ $example != *--allow* ]]; then
          words+=(--allow recompute)
        fi
        [[ $example == *--batch-size* ]] || words+=(--batch-size 4)
        [[ $example == *--context-length* ]] || words+=(--context-length 128)
      fi
      ;;
    ppo)
      [[ $example == *--model-size* || $example == *--setup* ]] || words+=(--model-size small)
      [[ $example == *--prompt-len* ]] || words+=(--prompt-len 32 --response-len 32)
      [[ $example == *--reward-size* ]] || words+=(--reward-size actor)
      [[ $example == *--device* ]] || words+=(--device virtual:h200)
      ;;
    finetune | serve)
      [[ $example == *--config* ]] || words+=(--config llama-3.1-8b)
      [[ $example == *--card* ]] || words+=(--card rtx4090)
      ;;
    dryrun) [[ $example == *--card* ]] || words+=(--card h200) && words+=(-- true) ;;
    compare) [[ $example == *--run* ]] || words=(before.jsonl after.jsonl "${words[@]}") ;;
    table) words=(summary records.jsonl "${words[@]}") ;;
    snapshot) words=(top run.pickle "${words[@]}") ;;
    report) words=(step.pickle "${words[@]}") ;;
    plot) words=(records.jsonl "${words[@]}") ;;
  esac
}

# try_example COMMAND: what the line in err gives as its example is not refused in its turn. An example of flags
# alone is tried with what that command needs besides. A file that it names need not be there.
try_example() {
  local example words=()
  example=$(sed -nE 's/^.*\(example: (.*)\)$/\1/p; t; s/^.*example: (.*)$/\1/p' err)
  [[ -n $example ]] || return 0
  read -ra words <<<"$example"
  if [[ ${words[0]} == headroom ]]; then
    words=("${words[@]:1}")
  elif [[ $example == --* ]]; then
    complete_example "$1"
    words=("$1" "${words[@]}")
  else
    fail "the example '$example' is neither a command nor flags: $1"
    return
  fi
  [[ -z ${tried["${words[*]}"]:-} ]] || return 0
  tried["${words[*]}"]=yes
  # A refusal comes before anything runs: what still runs after these seconds was not refused.
  (mkdir -p examples && cd examples && timeout 0.1 "$program" "${words[@]}" >out 2>err)
  [[ $? -ne 2 ]] || grep -qE 'cannot (be )?read|No such file|is no directory' examples/err ||
    fail "the example is refused: headroom ${words[*]}: $(<examples/err)"
}

# The last command of a test.
finish() {
  [[ $failures -eq 0 ]] && echo 'all passed'
  exit $((failures > 0))
}
