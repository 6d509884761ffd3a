#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mixed.sh MPI-COMPILER DIRECTORY LIBRARY LAUNCHER…: in one program, files may define PAPCOLL_COMPILED
# or not, be optimised or not, and come of two compilers; and headers of two versions meet. Where the
# LIBRARY (libpapcoll.a) is missing, or compiled with another level of checks, the linker says so by
# the name of what it misses. Ranks of one job that have different versions say so when they meet.
set -eu

compiler=$1 directory=$2/mixed library=$3
shift 3
rm -rf "$directory"
mkdir -p "$directory/include"
launch=$*

compile() {  # NAME SOURCE FLAGS…
  object=$directory/$1.o source=$2
  shift 2
  "$compiler" -std=c++20 -O0 -pthread "$@" -c "$source" -o "$object"
}
link() {  # NAMES…
  objects=""
  for name in "$@"; do objects="$objects $directory/$name.o"; done
  # shellcheck disable=SC2086
  "$compiler" -pthread $objects $libraries -o "$directory/program" >"$directory/said" 2>&1
}
libraries=""
sentence="link_libpapcoll_or_papcoll_cpp_compiled_for<.*version<[0-9, ]*>, .*assertions<2>, .*>()"
refused() {  # NAMES…: linking them fails with the sentence
  if link "$@" || ! grep -q "undefined reference to.*$sentence" "$directory/said"; then
    cat "$directory/said"
    echo "FAILED: $* are linked, or it is not said that papcoll.cpp is missing"
    exit 1
  fi
}

runs() {  # NAMES…: linked, they run
  link "$@" || { cat "$directory/said"; exit 1; }
  # shellcheck disable=SC2086
  $launch "$directory/program"
}

compile compiled tests/consumer/mpi_program.cpp -I include -DPAPCOLL_COMPILED
compile more_checks tests/consumer/second_unit.cpp -I include -DPAPCOLL_COMPILED -DPAPCOLL_ASSERTIONS=2
compile optimised tests/consumer/second_unit.cpp -I include -DPAPCOLL_COMPILED -O2

refused compiled more_checks
libraries="$library -Wl,--gc-sections"
refused compiled more_checks
libraries=$library
refused compiled more_checks
runs compiled optimised
if command -v clang++ >/dev/null; then
  export OMPI_CXX=clang++ MPICH_CXX=clang++  # from here on: in half the time of g++
  compile by_clang tests/consumer/second_unit.cpp -I include -DPAPCOLL_COMPILED
  runs compiled by_clang
fi
compile header_only tests/consumer/second_unit.cpp -I include
runs compiled header_only

# Another version of the headers in the same process: its own communicator, on the same MPI_COMM_WORLD.
cp -r include/papcoll "$directory/include"
sed -i -e 's/^#define PAPCOLL_ABI_OF_VERSION .*/#define PAPCOLL_ABI_OF_VERSION v0_99/' \
  -e 's/^#define PAPCOLL_VERSION_MINOR .*/#define PAPCOLL_VERSION_MINOR 99/' \
  "$directory/include/papcoll/base/version.hpp"
compile other_version tests/consumer/other_version.cpp -I "$directory/include"
compile two_versions tests/consumer/two_versions.cpp -I include -DPAPCOLL_COMPILED
runs two_versions other_version
# So do files with other checks, or another mode of the standard library, which compile what they use.
for how in PAPCOLL_ASSERTIONS=2 _GLIBCXX_DEBUG; do
  compile other_way tests/consumer/other_version.cpp -I include "-D$how"
  runs two_versions other_way
done

# And in another process of the same job: no rank waits for ever, and each says which version is where.
compile one_version tests/consumer/one_version.cpp
compile this_version tests/consumer/other_version.cpp -I include -DPAPCOLL_COMPILED
link one_version this_version || { cat "$directory/said"; exit 1; }
mv "$directory/program" "$directory/this"
link one_version other_version || { cat "$directory/said"; exit 1; }
status=0
# The launcher's last word is the number of ranks.
# shellcheck disable=SC2086
${launch% *} 1 "$directory/this" : -n 1 "$directory/program" >"$directory/said" 2>&1 || status=$?
version=$(sed -nE 's/#define PAPCOLL_VERSION_M.* ([0-9]+)/\1/p' include/papcoll/base/version.hpp | paste -sd.)
for rank in "1 .*papcoll 0[.]99[.].* 0 with papcoll $version" "0 .*papcoll $version.* 1 with papcoll 0[.]99"; do
  if [ $status -eq 0 ] || [ $status -eq 124 ] || ! grep -q "rank $rank.*: start the same build" "$directory/said"; then
    cat "$directory/said"
    echo "FAILED ($status): ranks of two versions meet, or do not say so"
    exit 1
  fi
done
