#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tidy.sh FLAGS-FILE: clang-tidy over all headers at once, in one generated translation unit.
set -u

flags=$1

command -v clang-tidy >/dev/null || { echo "SKIPPED: no clang-tidy"; exit 77; }

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
find include gpu/include analysis/include -name '*.hpp' | sed 's|.*include/papcoll|papcoll|' |
  grep -v profile/record_mpi | sort | sed 's/.*/#include <&>/' >"$directory/all.cpp"

hwloc=""
if echo '#include <hwloc.h>' | clang++ -fsyntax-only -x c++ - 2>/dev/null; then
  hwloc=-DPAPCOLL_WITH_HWLOC
else
  sed -i '/hwloc/d' "$directory/all.cpp"
fi

scotch=""
for directory_of in /usr/include /usr/include/scotch /usr/local/include; do
  [ -e "$directory_of/scotch.h" ] && scotch="-isystem $directory_of" && break
done
[ -n "$scotch" ] || sed -i '/baselines.scotch/d' "$directory/all.cpp"

echo '#include <cuda_runtime_api.h>' | clang++ @"$flags" -fsyntax-only -x c++ - 2>/dev/null ||
  sed -i -e '/gpu.cuda_runtime/d' -e '/cuda_ipc_transport/d' "$directory/all.cpp"

# clang-tidy reads no response files.
# shellcheck disable=SC2046,SC2086
clang-tidy --quiet --config-file=.clang-tidy "$directory/all.cpp" -- $(cat "$flags") $hwloc $scotch
