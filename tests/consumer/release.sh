#!/bin/bash
# release.sh MPI_COMPILER DIRECTORY: the preset of README.md and scripts/demo.sh builds the programs.
# It optimises more than the other tests' builds, and compilers then warn of more: here that fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mpi_compiler=$1 build=$2/release

if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
cmake --preset release -B "$build" -DMPI_CXX_COMPILER="$mpi_compiler" \
  -DPAPCOLL_WARNINGS_AS_ERRORS=ON >/dev/null
cmake --build "$build" --target papcoll_tool papcoll-bench ddp_digits
"$build/tools/papcoll" list >/dev/null
