#!/usr/bin/env bash
# The tests that are too long for every change. Builds the preset `dev` (every file by itself, all
# warnings), then runs the tests of CI and the nightly ones: wide random draws, all meshes, the
# thread sanitizer, and committed tables that repeat whole searches. Each draw prints its seed, so
# that a failure can be repeated.
#   HEADROOM_JOBS    compilations at once (default: 2; one that sees torch takes about 2 GB)
# Exit codes: 0 everything passed, 1 something failed, 5 set-up failed.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/usage.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/checks.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/checks.sh"
takes_no_arguments "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

HEADROOM_PRESET=dev scripts/setup.sh || exit 5
check "build" cmake --build --preset dev -j "${HEADROOM_JOBS:-2}"
check "ctest" ctest --preset nightly
check "other versions of torch" env HEADROOM_BIN=build/dev/bin/headroom studies/programs/check_wheels.sh --remove \
  --output-dir build/wheels/nightly 2.4.1 2.5.1 2.6.0 2.7.1 2.8.0 2.9.1 2.10.0
if [[ ${#failed[@]} -gt 0 ]]; then
  printf '== FAILED: %s\n' "$(names_of_failed)"
  exit 1
fi
