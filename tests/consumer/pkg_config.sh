#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pkg_config.sh MPI-COMPILER DIRECTORY PC-DIRECTORY VERSION OTHER-MPI-COMPILER|none LAUNCHER…: what was
# installed is found by pkg-config, with the library that was compiled once and without. A library
# for other files than these is refused by a sentence of the linker.
set -eu

command -v pkg-config >/dev/null || { echo "SKIPPED: no pkg-config"; exit 77; }

compiler=$1 directory=$2 version=$4 other=$5
export PKG_CONFIG_PATH="$3"
shift 5

for name in papcoll papcoll-header-only; do
  said=$(pkg-config --modversion $name)
  [ "$said" = "$version" ] || { echo "FAILED: $name says version $said, not $version"; exit 1; }
done

sources="tests/consumer/mpi_program.cpp tests/consumer/second_unit.cpp"
# shellcheck disable=SC2046,SC2086
"$compiler" $sources $(pkg-config --cflags --libs papcoll) -o "$directory/pkg_config"
"$@" "$directory/pkg_config"

case $(pkg-config --cflags --libs papcoll-header-only) in
  *-DPAPCOLL_COMPILED* | *-lpapcoll*) echo "FAILED: papcoll-header-only is not"; exit 1 ;;
  *-std=c++20*) ;;
  *) echo "FAILED: papcoll-header-only does not say which C++"; exit 1 ;;
esac

# refused WHAT COMPILER FLAG…: the linker says what the library would have to be compiled for, of a file
# that has what every file of papcoll has.
echo '#include <papcoll/transport/mpi/mpi.hpp>' >"$directory/refused.cpp"
refused() {
  what=$1
  shift
  # shellcheck disable=SC2046,SC2086
  if "$@" -shared -fPIC -Wl,-z,defs "$directory/refused.cpp" \
    $(pkg-config --cflags --libs papcoll) -o "$directory/refused" >"$directory/said" 2>&1; then
    echo "FAILED: a program is linked though $what differs"
    exit 1
  fi
  grep -q "undefined reference.*link_libpapcoll_or_papcoll_cpp_compiled_for<.*$what" "$directory/said" ||
    { cat "$directory/said"; echo "FAILED: the linker does not name $what"; exit 1; }
}
refused 'assertions<2>' "$compiler" -DPAPCOLL_ASSERTIONS=2
# By clang++, where it is there, which takes a third of the time.
if command -v clang++ >/dev/null; then export OMPI_CXX=clang++ MPICH_CXX=clang++; fi
if echo '#include <cstddef>' | "$compiler" -stdlib=libc++ -fsyntax-only -x c++ - 2>/dev/null; then
  refused libcxx "$compiler" -stdlib=libc++
fi
# shellcheck disable=SC2046
"$compiler" -fsyntax-only tests/consumer/second_unit.cpp $(pkg-config --cflags papcoll-header-only)
# The remedy: what the library has, compiled along.
# shellcheck disable=SC2046,SC2086
"$compiler" -O0 -DPAPCOLL_ASSERTIONS=2 $sources "$(pkg-config --variable=compiled_source papcoll)" \
  $(pkg-config --cflags papcoll) -o "$directory/pkg_config_2"
"$@" "$directory/pkg_config_2"
unset OMPI_CXX MPICH_CXX
refused thread_sanitizer "$compiler" -fsanitize=thread
if [ "$other" != none ]; then
  case $("$other" -show) in *mpich*) refused mpich_and_its_like "$other" ;; *) refused open_mpi "$other" ;; esac
fi
