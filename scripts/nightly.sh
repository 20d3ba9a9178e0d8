#!/usr/bin/env bash
# What is too long for every change: builds the preset `dev` (every file by itself, all warnings) and runs all tests there
# is time for at night: those of CI, wide random draws, all meshes, the thread sanitizer, tables that repeat whole searches.
# A draw's seed is printed, so that a failure can be repeated.
#   HEADROOM_JOBS    compilations at once (default: 2; one that sees torch takes about 2 GB)
# Exit codes: 0 everything passed, 1 something failed, 5 set-up failed.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/usage.sh"
takes_no_arguments "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
failed=()

check() {
  local name=$1
  shift
  printf '== %s\n' "$name"
  "$@" || failed+=("$name")
}

HEADROOM_PRESET=dev scripts/setup.sh || exit 5
check "build" cmake --build --preset dev -j "${HEADROOM_JOBS:-2}"
check "ctest" ctest --preset nightly
if [[ ${#failed[@]} -gt 0 ]]; then
  printf '== FAILED: %s\n' "$(printf '%s, ' "${failed[@]}" | sed 's/, $//')"
  exit 1
fi
