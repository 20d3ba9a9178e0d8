#!/usr/bin/env bash
# Everything CI runs: set-up, build with warnings as errors, style checks, tests. Its last lines are ctest's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${HEADROOM_PRESET:-release}

scripts/setup.sh
cmake --build --preset "$preset"
ctest --preset "$preset"
