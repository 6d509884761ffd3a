#!/bin/sh
# clang-format agrees with every source under version control.
set -u

command -v clang-format >/dev/null || { echo "SKIPPED: no clang-format"; exit 77; }
if files=$(git ls-files '*.hpp' '*.cpp' '*.h' '*.c' 2>/dev/null); then :; else
  files=$(find include tests examples benchmarks tools -name '*.[hc]pp' -o -name '*.[hc]')
fi
# A file that is removed but not yet committed is still listed.
for file in $files; do
  [ -e "$file" ] && echo "$file"
done | xargs clang-format --dry-run --Werror
