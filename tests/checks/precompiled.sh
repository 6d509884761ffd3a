#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# precompiled.sh COMPILER FLAGS-FILE DIRECTORY: what papcoll's headers include of others, compiled
# once, for scripts that compile many small files: they do with -include DIRECTORY/others_COMPILER.hpp.
# includes.py finds what a header forgets to include of the standard library. DIRECTORY/core_COMPILER.hpp has
# <papcoll/core.hpp>, too, for files that begin with it.
set -u

compiler=$1 flags=$2 directory=$3

command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 77; }

mkdir -p "$directory"
others=$directory/others_$compiler.hpp core=$directory/core_$compiler.hpp
grep -rhoE '^#include <[^>]+>' include gpu/include analysis/include --include='*.hpp' |
  grep -vE '<(papcoll/|mpi\.h|hwloc\.h|scotch\.h|cuda)' | sort -u >"$others"
{ cat "$others"; echo '#include <papcoll/core.hpp>'; } >"$core"
instantiate=""  # what the headers' own end would, not each file's
case $compiler in
  clang*) suffix=pch instantiate=-fpch-instantiate-templates ;;
  *) suffix=gch ;;
esac
for header in "$others" "$core"; do
  # shellcheck disable=SC2086
  "$compiler" @"$flags" $instantiate -DPAPCOLL_COMPILED -x c++-header "$header" -o "$header.$suffix" || exit 1
done
