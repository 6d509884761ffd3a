#!/bin/sh
# mixed.sh MPI-COMPILER DIRECTORY LAUNCHER…: in one program, files may define PAPCOLL_COMPILED or not,
# and headers of two versions meet. Where papcoll.cpp is missing, or compiled with another level of
# checks, the linker says so by the name of what it misses.
set -eu

compiler=$1 directory=$2/mixed
shift 2
rm -rf "$directory"
mkdir -p "$directory/include"

compile() {  # NAME SOURCE FLAGS…
  object=$directory/$1.o source=$2
  shift 2
  "$compiler" -std=c++20 -O0 -pthread "$@" -c "$source" -o "$object"
}
link() {  # NAMES…
  objects=""
  for name in "$@"; do objects="$objects $directory/$name.o"; done
  # shellcheck disable=SC2086
  "$compiler" -pthread $objects -o "$directory/program" >"$directory/said" 2>&1
}
sentence="link_papcoll_cpp_compiled_with<.*version<[0-9, ]*>, .*assertions<2> *>()"
refused() {  # NAMES…: linking them fails with the sentence
  if link "$@" || ! grep -q "undefined reference to.*$sentence" "$directory/said"; then
    cat "$directory/said"
    echo "FAILED: $* are linked, or it is not said that papcoll.cpp is missing"
    exit 1
  fi
}

compile compiled tests/consumer/mpi_program.cpp -I include -DPAPCOLL_COMPILED
compile papcoll include/papcoll/impl/papcoll.cpp -I include -DPAPCOLL_COMPILED
compile more_checks tests/consumer/second_unit.cpp -I include -DPAPCOLL_COMPILED -DPAPCOLL_ASSERTIONS=2
compile header_only tests/consumer/second_unit.cpp -I include

refused compiled more_checks
refused compiled more_checks papcoll
link compiled header_only papcoll || { cat "$directory/said"; exit 1; }
"$@" "$directory/program"

# Another version of the headers in the same process: its own communicator, on the same MPI_COMM_WORLD.
cp -r include/papcoll "$directory/include"
sed -i 's/^#define PAPCOLL_ABI .*/#define PAPCOLL_ABI v99_0/' "$directory/include/papcoll/version.hpp"
compile other_version tests/consumer/other_version.cpp -I "$directory/include"
compile two_versions tests/consumer/two_versions.cpp -I include -DPAPCOLL_COMPILED
link two_versions other_version papcoll || { cat "$directory/said"; exit 1; }
"$@" "$directory/program"
