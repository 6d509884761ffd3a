#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# without_toolkit.sh SOURCES DIRECTORY COMPILER: where there is no CUDA Toolkit, AUTO goes on and says
# so, and ON stops and says what to do.
set -euo pipefail
sources=$1 directory=$2 compiler=$3
export CUDACXX=/nonexistent/nvcc

configure() {
  cmake -S "$sources" -B "$directory/$1" -DPAPCOLL_WITH_CUDA="$1" -DPAPCOLL_WITH_MPI=OFF \
    -DCMAKE_CXX_COMPILER="$compiler" -DPAPCOLL_BUILD_TESTS=OFF -DPAPCOLL_BUILD_TOOLS=OFF \
    -DPAPCOLL_BUILD_BENCHMARKS=OFF -DPAPCOLL_BUILD_EXAMPLES=OFF >"$directory/$1.log" 2>&1
}

says() {  # MODE TEXT, wherever cmake broke its lines
  if ! tr -s '[:space:]' ' ' <"$directory/$1.log" | grep -qF "$2"; then
    echo "PAPCOLL_WITH_CUDA=$1 does not say '$2':"
    cat "$directory/$1.log"
    exit 1
  fi
}

rm -rf "$directory"
mkdir -p "$directory"
configure AUTO
says AUTO "No papcoll::gpu: there is no CUDA compiler (nvcc) that works with"
if configure ON; then
  echo "PAPCOLL_WITH_CUDA=ON configures without a toolkit"
  exit 1
fi
says ON "scripts/install_dependencies.sh --cuda"
configure OFF
