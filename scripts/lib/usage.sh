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
  printf "%s: '%s' is no option; it takes none but --help\n" "${0##*/}" "$1" >&2
  exit 2
}
