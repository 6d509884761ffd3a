#!/bin/sh
# pkg_config.sh MPI-COMPILER DIRECTORY PC-DIRECTORY VERSION LAUNCHER…: what was installed is found by
# pkg-config, compiles a program, and has the source that is compiled once.
set -eu

command -v pkg-config >/dev/null || { echo "SKIPPED: no pkg-config"; exit 77; }

compiler=$1 directory=$2 version=$4
export PKG_CONFIG_PATH="$3"
shift 4

said=$(pkg-config --modversion papcoll)
[ "$said" = "$version" ] || { echo "FAILED: says version $said instead of $version"; exit 1; }

# shellcheck disable=SC2046
"$compiler" -std=c++20 -O0 -DPAPCOLL_COMPILED tests/consumer/mpi_program.cpp \
  tests/consumer/second_unit.cpp "$(pkg-config --variable=compiled_source papcoll)" \
  $(pkg-config --cflags --libs papcoll) -o "$directory/pkg_config"
"$@" "$directory/pkg_config"
