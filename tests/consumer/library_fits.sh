#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# library_fits.sh SOURCES DIRECTORY PREFIX COMPILER MPI-COMPILER: find_package(papcoll) takes the library
# that was installed in PREFIX where it fits what a project compiles with, and only there.
set -euo pipefail
sources=$1 here=$2/library_fits prefix=$3 compiler=$4 mpi_compiler=$5

# expect takes|compiles LINES OPTION…: a project that begins with these lines.
expect() {
  local wanted=$1 lines=$2 said
  shift 2
  rm -rf "$here"
  mkdir -p "$here"
  echo "$lines" >"$here/first.cmake"
  cmake -S "$sources/examples/cmake" -B "$here/build" -DPAPCOLL_FROM=find_package -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DMPI_CXX_COMPILER="$mpi_compiler" \
    -DCMAKE_PROJECT_first_INCLUDE="$here/first.cmake" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" \
    >"$here/said"
  said=takes
  if grep -q 'call/papcoll\.cpp' "$here/build/compile_commands.json"; then said=compiles; fi
  if [[ $said != "$wanted" ]]; then
    cat "$here/said"
    echo "FAILED: it $said, with: $lines $*"
    exit 1
  fi
}

expect takes ""
expect takes "" -DCMAKE_BUILD_TYPE=Debug
expect takes "set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)"
expect takes 'add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall>)
add_compile_definitions($<$<CONFIG:Debug>:PAPCOLL_ASSERTIONS=2>)'
expect compiles "" -DPAPCOLL_INSTALLED_LIBRARY=OFF
expect compiles 'add_compile_definitions($<$<CONFIG:Debug>:PAPCOLL_ASSERTIONS=2>)' -DCMAKE_BUILD_TYPE=Debug
expect compiles "add_compile_definitions(PAPCOLL_ASSERTIONS=2)"
if ! grep -q 'is not for what this build has (.*assertions<2>' "$here/said"; then
  cat "$here/said"
  echo "FAILED: it is not said what the library is not for"
  exit 1
fi
expect compiles "add_compile_definitions(PAPCOLL_ASSERTIONS=2)
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)"
expect compiles "add_compile_definitions(_GLIBCXX_DEBUG)"
if echo '#include <cstddef>' | "$compiler" -stdlib=libc++ -fsyntax-only -x c++ - 2>/dev/null; then
  expect compiles "add_compile_options(-stdlib=libc++)
add_link_options(-stdlib=libc++)"
fi
expect compiles "add_compile_options(-fsanitize=thread)
add_link_options(-fsanitize=thread)"
expect compiles "" -DCMAKE_BUILD_TYPE=Asan -DCMAKE_CXX_FLAGS_ASAN=-fsanitize=address
