#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# release.sh COMPILER MPI_COMPILER DIRECTORY: the preset release configures, and builds a program that
# runs; one that is small: the same sources are compiled by other presets, and with -O3 by
# .github/workflows/ci.yml.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
compiler=$1 mpi_compiler=$2 build=$3/release

cmake --preset release -B "$build" -DCMAKE_CXX_COMPILER="$compiler" \
  -DMPI_CXX_COMPILER="$mpi_compiler" -DPAPCOLL_WITH_CUDA=OFF -DPAPCOLL_WARNINGS_AS_ERRORS=ON >/dev/null
cmake --build "$build" --target kernel_bench
timeout 60 "$build/benchmarks/kernel_bench" --help >/dev/null
