#!/bin/sh
# tidy.sh FLAGS-FILE: clang-tidy over all headers at once, in one generated translation unit.
set -u

flags=$1

command -v clang-tidy >/dev/null || { echo "SKIPPED: no clang-tidy"; exit 77; }

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
(cd include && find papcoll -name '*.hpp'; cd ../analysis/include && find papcoll -name '*.hpp') |
  sort | sed 's/.*/#include <&>/' >"$directory/all.cpp"

hwloc=""
if echo '#include <hwloc.h>' | clang++ -fsyntax-only -x c++ - 2>/dev/null; then
  hwloc=-DPAPCOLL_WITH_HWLOC
else
  sed -i '/hwloc/d' "$directory/all.cpp"
fi

# clang-tidy reads no response files.
# shellcheck disable=SC2046
clang-tidy --quiet --config-file=.clang-tidy "$directory/all.cpp" -- $(cat "$flags") $hwloc
