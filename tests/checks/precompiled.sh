#!/bin/sh
# precompiled.sh FLAGS-FILE DIRECTORY COMPILER…: what papcoll's headers include of others, compiled once
# by each compiler that is there, for scripts that compile many small files: they do with
# -include others_COMPILER.hpp. includes.py finds what a header forgets to include of the standard
# library. core_COMPILER.hpp has <papcoll/core.hpp>, too, for files that begin with it.
set -u

flags=$1 directory=$2
shift 2
mkdir -p "$directory"

precompile() {  # COMPILER
  others=$directory/others_$1.hpp core=$directory/core_$1.hpp
  grep -rhoE '^#include <[^>]+>' include analysis/include --include='*.hpp' |
    grep -vE '<(papcoll/|mpi\.h|hwloc\.h|scotch\.h|cuda)' | sort -u >"$others"
  { cat "$others"; echo '#include <papcoll/core.hpp>'; } >"$core"
  instantiate=""  # what the headers' own end would, not each file's
  case $1 in
    clang*) suffix=pch instantiate=-fpch-instantiate-templates ;;
    *) suffix=gch ;;
  esac
  for header in "$others" "$core"; do
    # shellcheck disable=SC2086
    "$1" @"$flags" $instantiate -DPAPCOLL_COMPILED -x c++-header "$header" -o "$header.$suffix" || return 1
  done
}

started=""
for compiler in "$@"; do
  if command -v "$compiler" >/dev/null; then
    precompile "$compiler" &
    started="$started $!"
  fi
done
status=0
for process in $started; do
  wait "$process" || status=1
done
exit $status
