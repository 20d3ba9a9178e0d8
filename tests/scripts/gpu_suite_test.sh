#!/usr/bin/env bash
# The quick cells on this machine's card and on the virtual one of its name: not a byte of difference.
# Usage: gpu_suite_test.sh HEADROOM. Exit code 77 (skipped): no card here, or none that cards.json knows.
set -uo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
HEADROOM_BIN=$(realpath "$1") scripts/gpu_suite.sh --quick --output-dir "$work"
status=$?
[[ $status -ne 5 ]] || exit 77
exit "$status"
