#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# compiled.sh MPI-COMPILER DIRECTORY: a unit that defines PAPCOLL_COMPILED holds no code of what
# papcoll.cpp compiles.
set -eu

object=$2/all_collectives.o
"$1" -std=c++20 -O2 -pthread -DPAPCOLL_COMPILED -I include -c tests/consumer/all_collectives.cpp \
  -o "$object"
if nm -C --defined-only "$object" |
  grep -E ' [TWtw] papcoll::.*(TeamCore|CommState|Endpoint|PlanAssembler|Builder|::step)'; then
  echo "FAILED: the functions above are compiled once more"
  exit 1
fi
