#!/bin/bash
# core_only.sh SOURCES DIRECTORY: what was installed without MPI says so to those who look for
# papcoll::papcoll.
set -euo pipefail
sources=$1 here=$2/core_only
rm -rf "$here"
mkdir -p "$here/program"

off=(-DPAPCOLL_WITH_MPI=OFF -DPAPCOLL_WITH_CUDA=OFF -DPAPCOLL_BUILD_TESTS=OFF -DPAPCOLL_BUILD_EXAMPLES=OFF
     -DPAPCOLL_BUILD_BENCHMARKS=OFF -DPAPCOLL_BUILD_TOOLS=OFF)
cmake -S "$sources" -B "$here/build" "${off[@]}" >/dev/null
cmake --install "$here/build" --prefix "$here/prefix" >/dev/null

# expect SENTENCE ARGUMENTS…: what CMake says of find_package(papcoll ARGUMENTS).
expect() {
  local sentence=$1 said
  shift
  printf 'cmake_minimum_required(VERSION 3.23)\nproject(p LANGUAGES CXX)\nfind_package(papcoll %s)\n' \
    "$*" >"$here/program/CMakeLists.txt"
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
expect "Configuring done" REQUIRED COMPONENTS core
