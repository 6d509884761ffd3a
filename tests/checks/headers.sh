#!/bin/sh
# headers.sh COMPILER FLAGS-FILE DIRECTORY: all headers compile together, in either order and without
# a warning, and none defines anything that two translation units could not both have; and every one
# compiles alone, and twice, but for the standard library, see precompiled.sh. What a header forgets
# to include does not depend on the compiler where both have the same standard library, so that one
# of them looks for it: clang++, or g++ where there is none.
set -u

compiler=$1 flags=$2 precompiled=$3/others_$1.hpp

command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 77; }

headers=$( (cd include && find papcoll -name '*.hpp'; cd ../analysis/include && find papcoll -name '*.hpp') | sort)
# Where it is not configured, tests/hwloc/ compiles it.
grep -q PAPCOLL_WITH_HWLOC "$flags" || headers=$(echo "$headers" | grep -v topology/hwloc)
# tests/scotch/ compiles this one.
headers=$(echo "$headers" | grep -v mapping/scotch)
# It defines MPI's functions, for one file of a program; tests/profile/ compiles it.
headers=$(echo "$headers" | grep -v profile/record_mpi)
# The flags have CUDA's headers where they are wanted and there.
echo '#include <cuda_runtime_api.h>' | "$compiler" @"$flags" -fsyntax-only -x c++ - 2>/dev/null ||
  headers=$(echo "$headers" | grep -v -e gpu/cuda_runtime -e cuda_ipc_transport)
failed=0
case $compiler in clang*) alone=true ;; *) command -v clang++ >/dev/null && alone=false || alone=true ;; esac

if $alone; then
  for header in $headers; do
    # With the shared code the headers are compiled below, and by the tools and benchmarks.
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
      "$compiler" @"$flags" -DPAPCOLL_COMPILED -include "$precompiled" -fsyntax-only -x c++ - ||
      { echo "FAILED: $header"; failed=$((failed + 1)); }
  done
fi

object=$(mktemp)
trap 'rm -f "$object"' EXIT
# shellcheck disable=SC2086
if printf '#include <%s>\n' $headers | "$compiler" @"$flags" -c -x c++ - -o "$object"; then
  if nm -C --defined-only "$object" | grep -E ' [TDBRC] '; then
    echo "FAILED: the symbols above are not inline"
    failed=$((failed + 1))
  fi
else
  echo "FAILED: all headers together"
  failed=$((failed + 1))
fi
# shellcheck disable=SC2086
printf '#include <%s>\n' $headers | tac | "$compiler" @"$flags" -fsyntax-only -x c++ - ||
  { echo "FAILED: all headers, the last one first"; failed=$((failed + 1)); }

echo "$compiler: $(echo "$headers" | wc -l) headers$($alone && echo ", each alone"), $failed failed"
[ $failed -eq 0 ]
