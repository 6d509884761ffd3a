#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# optimised.sh SOURCES DIRECTORY COMPILER MPI-COMPILER: the code that is compiled once is optimised,
# whatever a project around papcoll says of its own: nothing, Debug, or -O0. A release has its own level.
set -euo pipefail
sources=$1 here=$2/optimised compiler=$3 mpi_compiler=$4

# level OPTION…: the optimisation that counts, the last one.
level() {
  rm -rf "$here"
  cmake -S "$sources/examples/cmake" -B "$here" \
    -DCMAKE_CXX_COMPILER="$compiler" -DMPI_CXX_COMPILER="$mpi_compiler" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" >/dev/null
  sed -n '/call.papcoll\.cpp/p' "$here/compile_commands.json" | grep command | grep -oE ' -O[0-9a-z]*' |
    tail -n 1
}

expect() {
  local wanted=" $1" said
  shift
  said=$(level "$@") || true
  if [[ $said != "$wanted" ]]; then
    echo "FAILED: compiled with '$said' instead of '$wanted' by $*"
    exit 1
  fi
}

expect -O2
expect -O2 -DCMAKE_BUILD_TYPE=Debug
expect -O2 -DCMAKE_CXX_FLAGS=-O0
expect -O3 -DCMAKE_BUILD_TYPE=Release
expect -O2 -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG
expect -O0 -DPAPCOLL_CORE_FLAGS=-O0
