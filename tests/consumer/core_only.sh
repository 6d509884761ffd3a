#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# core_only.sh SOURCES DIRECTORY: what was installed without MPI says so to those who look for
# papcoll::papcoll. It can be moved, also where its directories were named by absolute paths.
set -euo pipefail
sources=$1 here=$2/core_only
rm -rf "$here"
mkdir -p "$here/program"

off=(-DPAPCOLL_WITH_MPI=OFF -DPAPCOLL_WITH_CUDA=OFF -DPAPCOLL_BUILD_TESTS=OFF -DPAPCOLL_BUILD_EXAMPLES=OFF
     -DPAPCOLL_BUILD_BENCHMARKS=OFF -DPAPCOLL_BUILD_TOOLS=OFF)
cmake -S "$sources" -B "$here/build" "${off[@]}" "-DCMAKE_INSTALL_PREFIX=$here/first" \
  "-DCMAKE_INSTALL_INCLUDEDIR=$here/first/headers" "-DCMAKE_INSTALL_LIBDIR=$here/first/lib" >/dev/null
cmake --install "$here/build" >/dev/null
mv "$here/first" "$here/prefix"

# expect SENTENCE ARGUMENTS…: what CMake says of find_package(papcoll ARGUMENTS).
expect() {
  local sentence=$1 said
  shift
  printf 'cmake_minimum_required(VERSION 3.23)\nproject(p LANGUAGES CXX)\nfind_package(papcoll %s)\n%s' \
    "$*" "${after-}" >"$here/program/CMakeLists.txt"
  said=$(cmake -S "$here/program" -B "$here/found" -DCMAKE_PREFIX_PATH="$here/prefix" 2>&1 |
         tr -s '\n ' ' ') || true
  if [[ $said != *"$sentence"* ]]; then
    printf 'find_package(papcoll %s) does not say "%s":\n%s\n' "$*" "$sentence" "$said"
    exit 1
  fi
}

expect "installed without MPI, so there is papcoll::core, but no papcoll::papcoll" REQUIRED
expect "installed without MPI, so there is papcoll::core" REQUIRED COMPONENTS mpi
expect "papcoll has no component fortran" REQUIRED COMPONENTS fortran
expect "name CUDA among the languages of project()" REQUIRED COMPONENTS gpu
after="add_subdirectory($sources papcoll)" expect "There is a papcoll already" REQUIRED COMPONENTS core

# What was moved finds its headers.
# shellcheck disable=SC2016
after='get_target_property(headers papcoll::core HEADER_DIRS)
find_file(core_hpp papcoll/core.hpp PATHS ${headers} NO_DEFAULT_PATH REQUIRED)
' expect "Configuring done" REQUIRED COMPONENTS core
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$here/prefix/lib/pkgconfig
  includes=$(pkg-config --variable=includedir papcoll-header-only)
  [[ -e $includes/papcoll/core.hpp ]] || { echo "FAILED: pkg-config says that headers are in $includes"; exit 1; }
fi
