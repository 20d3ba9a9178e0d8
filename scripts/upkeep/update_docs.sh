#!/usr/bin/env bash
# Fills README.md and docs/ from the committed results, so that no number in them is typed.
#   update_docs.sh [--check] [FILE...]     FILEs default to README.md and the pages in docs/
# The text between a marker and "<!-- end -->" is the file NAME under results/, beside the document
# or one folder up:
#   <!-- table: NAME -->             Markdown, as it is
#   <!-- output: NAME [NAME...] -->  commands and what they print, in one fence (scripts/upkeep/readme_outputs.sh)
# --check changes nothing and shows what is not as the results say.
# Exit codes: 0 everything is current, 1 (--check) something is not, 2 usage, 5 a marker or a file is
# wrong; then nothing is written.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

check=0
if [[ "${1:-}" == --check ]]; then
  check=1
  shift
fi
files=(README.md docs/*.md docs/*/*.md)
if [[ $# -gt 0 ]]; then
  files=()
  for file; do
    [[ $file != -* ]] || { printf 'usage: update_docs.sh [--check] [FILE...]\n' >&2 && exit 2; }
    [[ $file == /* ]] || file=$caller/$file
    files+=("$file")
  done
fi

fail() {
  printf '%s: %s\n' "$file" "$*" >&2
  exit 5
}

# path_of NAME: under the results of the document's tree. (No $(): fail must end the script.)
path_of() {
  local folder up
  folder=.
  [[ $file != */* ]] || folder=${file%/*}
  for up in . .. ../..; do
    path=$folder/$up/results/$1
    [[ ! -s $path ]] || return 0
  done
  fail "the $kind '$1' is not under results/: make it, or take its markers out"
}

# The text between the markers of $kind $name.
block() {
  local part path
  if [[ $kind == table ]]; then
    path_of "$name"
    printf '\n%s\n\n' "$(<"$path")"
    return
  fi
  # shellcheck disable=SC2016 # a fence, not a command
  printf '```console\n'
  for part in $name; do
    path_of "$part"
    ! grep -q '^```' "$path" || fail "the output '$part' has a fence in it"
    printf '%s\n' "$(<"$path")"
  done
  # shellcheck disable=SC2016
  printf '```\n'
}

# The document with every block replaced.
filled() {
  local line kind='' name=''
  while IFS= read -r line; do
    if [[ $line =~ ^'<!-- '(table|output)': '(.*)' -->'$ ]]; then
      [[ -z $name ]] || fail "the $kind '$name' has no <!-- end -->"
      kind=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]}
      printf '%s\n' "$line"
      block
    elif [[ $line == '<!-- end -->' ]]; then
      [[ -n $name ]] || fail "an <!-- end --> without its table or output"
      name=''
    fi
    [[ -n $name ]] || printf '%s\n' "$line"
  done <"$file"
  [[ -z $name ]] || fail "the $kind '$name' has no <!-- end -->"
}

# All of them are filled before the first is replaced.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
for number in "${!files[@]}"; do
  file=${files[number]}
  [[ -r $file ]] || fail "cannot be read"
  filled >"$scratch/$number"
  [[ $check -eq 0 ]] || diff -u --label "$file" --label "$file, by the results" "$file" "$scratch/$number" || status=1
done
if [[ $check -eq 1 ]]; then
  [[ $status -eq 0 ]] || printf 'not as the results say: run scripts/upkeep/update_docs.sh\n' >&2
  exit "$status"
fi
for number in "${!files[@]}"; do
  file=${files[number]}
  cmp -s "$file" "$scratch/$number" && continue
  chmod --reference="$file" "$scratch/$number"
  cp -p "$scratch/$number" "$file.tmp"
  mv "$file.tmp" "$file"
done
