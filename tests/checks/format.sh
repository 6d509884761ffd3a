#!/bin/sh
# clang-format agrees with every source under version control, and comments keep to 100 columns.
set -u

command -v clang-format >/dev/null || { echo "SKIPPED: no clang-format"; exit 77; }
files=$(git ls-files '*.hpp' '*.ipp' '*.cpp' '*.cuh' '*.cu' 2>/dev/null)
[ -n "$files" ] || files=$(find include analysis tests examples benchmarks tools \( -name '*.[hic]pp' -o -name '*.cu*' \))

verdict=0
for file in $files; do
  [ -e "$file" ] || continue  # removed, but not yet committed
  clang-format --dry-run --Werror "$file" || verdict=1
  if LC_ALL=C.UTF-8 grep -nHE '^.{101,}' "$file"; then
    echo "$file: FAILED: more than 100 columns"
    verdict=1
  fi
done
exit $verdict
