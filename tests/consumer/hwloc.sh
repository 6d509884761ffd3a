#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hwloc.sh SOURCES DIRECTORY COMPILER: what was installed with PAPCOLL_WITH_HWLOC finds hwloc again,
# by CMake and by pkg-config.
set -euo pipefail
sources=$1 here=$2/hwloc compiler=$3
rm -rf "$here"
mkdir -p "$here/program"

options=(-DPAPCOLL_WITH_MPI=OFF -DPAPCOLL_WITH_CUDA=OFF -DPAPCOLL_BUILD_TESTS=OFF -DPAPCOLL_BUILD_EXAMPLES=OFF
         -DPAPCOLL_BUILD_BENCHMARKS=OFF -DPAPCOLL_BUILD_TOOLS=OFF -DPAPCOLL_WITH_HWLOC=ON
         -DCMAKE_CXX_COMPILER="$compiler")
cmake -S "$sources" -B "$here/build" "${options[@]}" >/dev/null
cmake --install "$here/build" --prefix "$here/prefix" >/dev/null

cat >"$here/program/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.23)
project(p LANGUAGES CXX)
find_package(papcoll REQUIRED COMPONENTS core)
add_executable(program program.cpp)
target_link_libraries(program PRIVATE papcoll::analysis)
END
cat >"$here/program/program.cpp" <<'END'
#include <papcoll/topology/hwloc.hpp>
int main() { return papcoll::hwloc_synthetic("package:2 core:4 pu:1", 3).read().size() == 24 ? 0 : 1; }
END
cmake -S "$here/program" -B "$here/found" -DCMAKE_PREFIX_PATH="$here/prefix" \
      -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
cmake --build "$here/found" >/dev/null
"$here/found/program"

command -v pkg-config >/dev/null || exit 0
PKG_CONFIG_PATH=$(dirname "$(find "$here/prefix" -name papcoll.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs papcoll)
"$compiler" -std=c++20 "$here/program/program.cpp" "${flags[@]}" -o "$here/by_pkg_config"
"$here/by_pkg_config"
