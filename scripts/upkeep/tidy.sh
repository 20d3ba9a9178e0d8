#!/usr/bin/env bash
# clang-tidy over our sources, with the compile commands of the release build. Not part of test.sh: parsing torch/torch.h
# takes clang most of a minute per file. usage: tidy.sh [FILE...]; default: every .cpp outside tests/.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/usage.sh"
help_asked "${1:-}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
commands=build/release/tidy
mkdir -p "$commands"
# GCC's precompiled header means nothing to clang: the header itself is included instead.
sed -E 's/-fpch-preprocess|-Winvalid-pch|-Wno-restrict|-Wno-stringop-overflow|-Wno-array-bounds|-Wno-subobject-linkage|-Wno-maybe-uninitialized//g; s#-include [^ "]*cmake_pch\.hxx#-include torch/torch.h#g' \
  build/release/compile_commands.json >"$commands/compile_commands.json"
if [[ $# -gt 0 ]]; then files=("$@"); else mapfile -t files < <(git ls-files '*.cpp' | grep -v -e '^tests/' -e torch_pch); fi
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$commands" --quiet
