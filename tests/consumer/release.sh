#!/bin/bash
# release.sh COMPILER MPI_COMPILER DIRECTORY: the preset of README.md and scripts/demo.sh builds a
# program. The preset openmpi has its flags as PAPCOLL_TOOL_FLAGS, so that ccache has the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
compiler=$1 mpi_compiler=$2 build=$3/release

if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
cmake --preset release -B "$build" -DCMAKE_CXX_COMPILER="$compiler" \
  -DMPI_CXX_COMPILER="$mpi_compiler" -DPAPCOLL_WITH_CUDA=OFF -DPAPCOLL_WARNINGS_AS_ERRORS=ON >/dev/null
cmake --build "$build" --target papcoll_tool
"$build/tools/papcoll" list >/dev/null
