#!/bin/sh
# bare.sh MPI-COMPILER DIRECTORY LAUNCHER…: the compile line of the README, and what it made runs.
set -eu

compiler=$1 directory=$2
shift 2

"$compiler" -std=c++20 -O2 -pthread -I include tests/consumer/mpi_program.cpp \
  tests/consumer/second_unit.cpp -o "$directory/bare"
"$@" "$directory/bare"
