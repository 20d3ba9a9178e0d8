# shellcheck shell=bash
# --help of the scripts that say what they do in the comment at their top. Sourced, never run.

# help_asked WORD: for -h and --help prints that comment and ends the script.
help_asked() {
  [[ ${1:-} == -h || ${1:-} == --help ]] || return 0
  sed -nE '2,/^[^#]/s/^# ?//p' "$0"
  exit 0
}

# takes_no_arguments ARGUMENTS...: --help aside, an argument is refused.
takes_no_arguments() {
  [[ $# -gt 0 ]] || return 0
  help_asked "$1"
  printf "%s: '%s' is no option; the only option is --help\n" "${0##*/}" "$1" >&2
  exit 2
}

declare -A flags_given=()
# given_once FLAG [OTHER]: ends the script where the flag, or another that says the same, came before:
# of two values one would be dropped without a word.
given_once() {
  local before
  for before in "$@"; do
    [[ -n ${flags_given[$before]:-} ]] || continue
    [[ $before == "$1" ]] && before=twice || before="beside $before"
    printf '%s: %s is given %s; give one value\n' "${0##*/}" "$1" "$before" >&2
    exit 2
  done
  flags_given[$1]=1
}
