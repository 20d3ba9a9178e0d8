#!/usr/bin/env bash
# The answers of bash and zsh to the Tab key; manual pages; the files of completion install. zsh only where it is installed.
# Usage: completion_test.sh HEADROOM
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../support/expect.sh"

tab_key=$(realpath "$(dirname "${BASH_SOURCE[0]}")/tab_key.py")
begin "$1"

expect 2 'completion needs a word: bash, zsh, man, install' completion
expect 2 "completion: 'bsh' is unknown; .*did you mean bash" completion bsh
expect 2 "command: 'profil' is unknown; .*did you mean profile" completion man profil
expect 2 'completion install needs a folder' completion install
expect 5 '/proc/nowhere' completion install /proc/nowhere
mkdir -p half/share/man/man1/headroom-sweep.1 # where a file should be
expect 5 'headroom-sweep.1' completion install half
[[ -z $(find half -type f) ]] || fail 'a failed installation leaves files'

expect 0 '' completion bash
cp out completion.bash
shellcheck --shell=bash --exclude=SC2034,SC2207 completion.bash || fail 'the script for bash is not clean'

# completes LINE EXPECTED...: the answers for a line with the cursor at its end, in a new bash.
completes() {
  local line=$1 answers
  shift
  answers=$(bash --norc -c 'source ./completion.bash; COMP_LINE=$1 COMP_POINT=${#1}; _headroom; echo "${COMPREPLY[*]}"' _ "$line")
  [[ $answers == "$*" ]] || fail "'$line' is completed by '$answers', not '$*'"
}

completes 'headroom prof' profile
completes 'headroom s' sweep serve snapshot
completes 'headroom help do' doctor
completes 'headroom snapshot ' top validate diff
completes 'headroom table mi' mixed-precision
completes 'headroom profile --warm' --warmup-steps
completes 'headroom profile --precision ' fp32 tf32 bf16 fp16 fp8
completes 'headroom profile --precision b' bf16
completes 'headroom profile --precision=b' bf16
completes 'headroom profile --recompute s' selective
completes 'headroom profile --model-size 2' 2.7B
# A list: its last element. Bash replaces what follows the last colon or equals sign.
completes 'headroom sweep --model-size small,l' small,large
completes 'headroom profile --device virtual:h20' h200 h20
completes 'headroom profile --device=virtual:rtx50' rtx5090
completes 'headroom sweep --device=virtual:h200,virtual:t' t4
completes 'headroom fit --card rtx4090,rtx50' rtx4090,rtx5090
completes 'headroom serve --config llama-3.1-8' llama-3.1-8b
completes 'headroom cards rtx40' rtx4090
# Files, numbers and another program's words are left to bash.
completes 'headroom profile --snapshot out' ''
completes 'headroom profile --layers ' ''
completes 'headroom dryrun --card h200 -- --prec' ''
# A command that is unknown has nothing.
completes 'headroom nothing --' ''

# In interactive shells, by the Tab key.
# by_tab EXPECTED TYPED SHELL...: the arguments that headroom gets.
by_tab() {
  python3 -I "$tab_key" "$prepare" "$2" "${@:3}" >seen || fail "${3} does not answer: $(<seen)"
  grep -qF "got $1;" seen || fail "'$2' gives in $3: $(<seen)"
}
prepare='source ./completion.bash'
by_tab 'profile --optimizer-impl fused' 'headroom prof\t--opti\t-im\tfu\t' bash --norc --noprofile -i
by_tab 'profile --device virtual:rtx5090' 'headroom profile --device virtual:rtx50\t' bash --norc --noprofile -i

expect 0 '' completion zsh
cp out _headroom
[[ $(head -n 1 _headroom) == '#compdef headroom' ]] || fail 'zsh would not find the script by its first line'
if command -v zsh >zsh_path; then
  prepare='autoload -U compinit; compinit -u -D; source ./_headroom'
  by_tab 'profile --optimizer-impl fused' 'headroom prof\t--opti\t-im\t fu\t' zsh -f -i
  by_tab 'sweep --device virtual:rtx5090' 'headroom sweep --device virtual:rtx50\t' zsh -f -i
  by_tab 'sweep --model-size small,large' 'headroom sweep --model-size small,la\t' zsh -f -i
  by_tab 'snapshot validate' 'headroom snapshot va\t' zsh -f -i
fi

# All files, below share/ of a folder.
expect 0 '' completion install prefix
for file in bash-completion/completions/headroom zsh/site-functions/_headroom man/man1/headroom.1 man/man1/headroom-profile.1; do
  [[ -s prefix/share/$file ]] || fail "no $file"
done
cmp -s completion.bash prefix/share/bash-completion/completions/headroom || fail 'another script is installed'
expect 0 '' --help
commands=$(sed -nE 's/^  ([a-z]+)  +[^ ].*/\1/p' out | wc -l)
pages=(prefix/share/man/man1/*.1)
[[ ${#pages[@]} -eq $((commands + 1)) ]] || fail "${#pages[@]} pages of $commands commands"
if command -v groff >groff_path; then
  for page in "${pages[@]}"; do
    groff -man -ww -z -Tutf8 "$page" 2>err || fail "groff refuses $page"
    [[ ! -s err ]] || fail "groff warns of $page"
    grep -q '^headroom.* \\- [a-z]' "$page" || fail "$page has no name"
  done
fi

# Every command has two examples, first in its help, and in its page.
sed -nE 's/^  ([a-z]+)  +[^ ].*/\1/p' out >names
while read -r command; do
  "$program" "$command" --help >help
  [[ $(head -n 1 help) == Examples && $(sed -n '2,3p' help | grep -cE '^  .*headroom ') -eq 2 ]] ||
    fail "the help of $command does not begin with two examples"
  awk 'NR < 4 && length > 80 {exit 1}' help || fail "an example of $command is wider than 80 columns"
done <names

finish
