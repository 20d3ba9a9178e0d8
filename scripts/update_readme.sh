#!/usr/bin/env bash
# Fills the README's tables from the committed results, so that no number in it is typed.
#   update_readme.sh [--check] [FILE]     FILE defaults to README.md; tables come from results/ beside it
# A table stands between "<!-- table: NAME -->" and "<!-- end -->"; NAME is a Markdown file under
# results/. --check changes nothing and fails when a table is not what the results say.
# Exit codes: 0 all tables are current, 1 (--check) some are not, 2 usage, 5 a marker or a file is wrong.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

check=0
if [[ "${1:-}" == --check ]]; then
  check=1
  shift
fi
if [[ $# -gt 1 || "${1:-}" == -* ]]; then
  printf 'usage: update_readme.sh [--check] [FILE]\n' >&2
  exit 2
fi
file=${1:-README.md}
[[ $# -eq 0 || "$file" == /* ]] || file=$caller/$file

fail() {
  printf '%s: %s\n' "$file" "$*" >&2
  exit 5
}

# The document with every table replaced.
filled() {
  local line name='' table results
  results=$(dirname "$file")/results
  while IFS= read -r line; do
    if [[ "$line" =~ ^'<!-- table: '(.*)' -->'$ ]]; then
      [[ -z "$name" ]] || fail "the table '$name' has no <!-- end -->"
      name=${BASH_REMATCH[1]}
      table=$results/$name
      [[ -s "$table" ]] || fail "the table '$name' is not under results/: make it, or take its markers out"
      printf '%s\n\n' "$line"
      cat "$table"
      printf '\n'
    elif [[ "$line" == '<!-- end -->' ]]; then
      [[ -n "$name" ]] || fail "an <!-- end --> without its table"
      name=''
    fi
    [[ -n "$name" ]] || printf '%s\n' "$line"
  done <"$file"
  [[ -z "$name" ]] || fail "the table '$name' has no <!-- end -->"
}

[[ -r "$file" ]] || fail "cannot be read"
partial=$(mktemp "$file.XXXXXX")
trap 'rm -f "$partial"' EXIT
filled >"$partial"
if [[ $check -eq 1 ]]; then
  diff -u "$file" "$partial" && exit 0
  printf '%s differs from the results: run scripts/update_readme.sh\n' "$file" >&2
  exit 1
fi
chmod --reference="$file" "$partial"
mv "$partial" "$file"
