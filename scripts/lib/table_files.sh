# shellcheck shell=bash
# For scripts that write tables from the program's answers: their options, the program, whole files.

# shellcheck source-path=SCRIPTDIR source=usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/usage.sh"

# read_options "$@": sets output_dir from --output-dir DIR and, where the caller has set `file`, that
# from an argument. Exit 2 on anything else.
read_options() {
  local name=${0##*/}
  while [[ $# -gt 0 ]]; do
    case $1 in
      --output-dir)
        [[ -n ${2:-} ]] || { printf '%s needs a value\n' "$1" >&2 && exit 2; }
        given_once "$1"
        output_dir=$2
        shift 2
        ;;
      -*) printf "%s: unknown option '%s' (allowed: --output-dir DIR)\n" "$name" "$1" >&2 && exit 2 ;;
      *)
        [[ -v file ]] || { printf "%s: unknown argument '%s' (allowed: --output-dir DIR)\n" "$name" "$1" >&2 && exit 2; }
        file=$1
        shift
        ;;
    esac
  done
  [[ ! -v file || -r $file ]] || { printf '%s cannot be read\n' "$file" >&2 && exit 2; }
}

# read_checkouts "$@": sets checkouts to the arguments, at least one, and output_dir from --output-dir DIR. Exit 2 on anything else.
read_checkouts() {
  local options=()
  checkouts=()
  while [[ $# -gt 0 ]]; do
    case $1 in
      --output-dir) options+=("$1" "${2:-}") && shift $(($# > 1 ? 2 : 1)) ;;
      -*) options+=("$1") && shift ;;
      *) checkouts+=("$1") && shift ;;
    esac
  done
  read_options "${options[@]}"
  [[ ${#checkouts[@]} -gt 0 ]] || { printf 'usage: %s [--output-dir DIR] CHECKOUT...\n' "${0##*/}" >&2 && exit 2; }
}

# need_headroom: sets headroom to the program, exit 5 when it is not built; makes output_dir.
need_headroom() {
  headroom=${HEADROOM_BIN:-build/release/bin/headroom}
  [[ -x $headroom ]] || { printf '%s is not built: ./scripts/run_all.sh builds it\n' "$headroom" >&2 && exit 5; }
  mkdir -p "$output_dir"
}

# tables PATTERN: of a Markdown report on stdin, the tables whose titles match, up to the next title.
tables() { awk -v wanted="$1" '/^### / { shown = $0 ~ wanted } shown'; }

# into NAME: stdin without blank lines at its end becomes output_dir/NAME, whole or not at all.
into() {
  local file=$output_dir/$1
  sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$file.tmp" && mv "$file.tmp" "$file"
}

# merge_rows FILE NEW KEY...: puts the lines of JSON of NEW into FILE, in the place of those with the same values of KEYs.
merge_rows() {
  python3 -IS -c 'import json, sys
old, new, *keys = sys.argv[1:]
lines = {tuple(json.loads(line)[key] for key in keys): line for path in (old, new) for line in open(path)}
print(*(lines[name] for name in sorted(lines)), sep="", end="")' "$@" >"$1.tmp" && mv "$1.tmp" "$1"
}
