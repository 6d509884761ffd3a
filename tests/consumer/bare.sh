#!/bin/sh
# bare.sh MPI-COMPILER DIRECTORY LAUNCHER…: the compile line of the README, for two units, and what it
# made runs. With -O0, in half the time: checks/readme.py compiles the README's program by all of it.
set -eu

compiler=$1 directory=$2
shift 2

"$compiler" -std=c++20 -O0 -pthread -I include tests/consumer/mpi_program.cpp \
  tests/consumer/second_unit.cpp -o "$directory/bare"
"$@" "$directory/bare"
