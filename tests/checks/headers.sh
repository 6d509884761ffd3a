#!/bin/sh
# headers.sh COMPILER FLAGS-FILE: every header compiles alone, and twice, without a warning.
set -u

compiler=$1 flags=$2

command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 77; }

count=0 failed=0
for header in $(cd include && find papcoll -name '*.hpp' | sort); do
  count=$((count + 1))
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
    "$compiler" @"$flags" -fsyntax-only -x c++ - || { echo "FAILED: $header"; failed=$((failed + 1)); }
done
echo "$compiler: $count headers, $failed failed"
[ $failed -eq 0 ]
