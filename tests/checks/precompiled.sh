#!/bin/sh
# precompiled.sh COMPILER FLAGS-FILE DIRECTORY: what papcoll's headers include of others, compiled
# once, for scripts that compile many small files: they do with -include others_COMPILER.hpp.
# includes.py finds what a header forgets to include of the standard library.
set -u

compiler=$1 flags=$2 directory=$3

command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 77; }

mkdir -p "$directory"
header=$directory/others_$compiler.hpp
grep -rhoE '^#include <[^>]+>' include analysis/include --include='*.hpp' |
  grep -vE '<(papcoll/|mpi\.h)' | sort -u >"$header"
case $compiler in
  clang*) out=$header.pch ;;
  *) out=$header.gch ;;
esac
"$compiler" @"$flags" -DPAPCOLL_COMPILED -x c++-header "$header" -o "$out"
