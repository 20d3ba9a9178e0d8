#!/usr/bin/env bash
# The scripts of the report's page under Debian's eslint; skipped (exit 77) without it.
# Usage: eslint_test.sh
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

web=profiling/report/page/web
export NODE_PATH=/usr/share/nodejs # of Debian's packages; another node does not look there
if ! eslint --version >/dev/null 2>&1; then
  echo 'skipped: the scripts are checked by eslint, which is not installed (Debian: apt-get install eslint)'
  exit 77
fi

# The page's scripts share their names, so they are one program; FILE:LINE is found again below.
lines=$(awk 'FNR == 1 { print FILENAME ":" NR }' "$web"/*/*.js)
check() { eslint --no-eslintrc --config "$web/eslint.json" --format unix --stdin; }
if echo 'let used = 1; used = misspelt' | check >/dev/null; then
  echo 'eslint finds nothing wrong in a wrong script'
  exit 1
fi
cat "$web"/*/*.js | check | awk -F: -v starts="$lines" '
  BEGIN { n = split(starts, start, "\n") }
  $2 ~ /^[0-9]+$/ {
    for (i = n; i > 1; --i) { split(start[i], place, ":"); if (place[2] <= $2) break }
    split(start[i], place, ":")
    print place[1] ":" $2 - place[2] + 1 ":" $3 ":" $4
  }'
exit "${PIPESTATUS[1]}"
