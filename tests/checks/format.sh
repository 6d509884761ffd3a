#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# clang-format agrees with every source under version control, and comments keep to 100 columns.
set -u

command -v clang-format >/dev/null || { echo "SKIPPED: no clang-format"; exit 77; }
files=$(git ls-files '*.hpp' '*.ipp' '*.cpp' '*.cuh' '*.cu' 2>/dev/null)
[ -n "$files" ] || files=$(find include gpu analysis tests examples benchmarks tools \( -name '*.[hic]pp' -o -name '*.cu*' \))
present=$(for file in $files; do [ ! -e "$file" ] || echo "$file"; done)  # others: not yet committed

verdict=0
echo "$present" | xargs clang-format --dry-run --Werror || verdict=1
if echo "$present" | LC_ALL=C.UTF-8 xargs grep -nHE '^.{101,}'; then
  echo "FAILED: the lines above have more than 100 columns"
  verdict=1
fi
exit $verdict
