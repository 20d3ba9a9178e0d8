#!/usr/bin/env bash
# Everything CI runs: set-up, style checks, build with warnings as errors, tests (the layer check
# and the shell drivers are among them). A check that fails is named and the rest still runs; the
# last lines are ctest's.
#   HEADROOM_PRESET  CMake preset to build and test (default: release)
#   HEADROOM_JOBS    compilations at once (default: 2; one that sees torch takes about 2 GB)
# Exit codes: 0 everything passed, 1 something failed, 5 set-up failed.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/usage.sh"
# shellcheck source-path=SCRIPTDIR source=lib/checks.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/checks.sh"
takes_no_arguments "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
preset=${HEADROOM_PRESET:-release}

# Files of ours by pattern: committed or not yet, never ignored ones.
ours() { git ls-files --cached --others --exclude-standard -z -- "$@"; }

check_format() { ours '*.h' '*.cpp' '*.cu' | xargs -0 -r clang-format --dry-run -Werror; }
check_shell() { ours '*.sh' '*.bats' .ci/run | xargs -0 -r shellcheck -x; }
check_python() {
  local scratch
  scratch=$(mktemp -d) || return
  ours '*.py' | PYTHONPYCACHEPREFIX=$scratch xargs -0 -r /usr/bin/python3 -m compileall -q
  local status=$?
  rm -rf "$scratch"
  return "$status"
}

scripts/setup.sh || exit
check "clang-format" check_format
check "shellcheck" check_shell
check "python" check_python
check "build" cmake --build --preset "$preset" -j "${HEADROOM_JOBS:-2}"
if [[ ${#failed[@]} -gt 0 ]]; then
  printf '== FAILED so far: %s (this run will exit 1)\n' "$(names_of_failed)"
fi
printf '== ctest\n'
ctest --preset "$preset" || failed+=(ctest)
[[ ${#failed[@]} -eq 0 ]]
