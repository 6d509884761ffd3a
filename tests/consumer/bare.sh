#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bare.sh MPI-COMPILER DIRECTORY LAUNCHER…: the compile line of the README, for two units, and what it
# made runs. With -O0 and, where it is there, by clang++, in a quarter of the time: checks/readme.py
# compiles the README's program by all of it.
set -eu

compiler=$1 directory=$2
shift 2
if command -v clang++ >/dev/null; then export OMPI_CXX=clang++ MPICH_CXX=clang++; fi

"$compiler" -std=c++20 -O0 -pthread -I include tests/consumer/mpi_program.cpp \
  tests/consumer/second_unit.cpp -o "$directory/bare"
"$@" "$directory/bare"
