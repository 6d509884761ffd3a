#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# named_call.sh MPI-COMPILER DIRECTORY: a call that names its algorithm compiles neither other
# algorithms nor what chooses among them, by whichever headers.
set -eu

compiler=$1 directory=$2
failed=0
# Both compile the same functions, and without optimisation clang++ takes half the time.
if command -v clang++ >/dev/null; then export OMPI_CXX=clang++ MPICH_CXX=clang++; fi

# What the runtime itself uses: RecursiveDoubling and DirectAllgather for what ranks tell each other,
# Dissemination before what blocks in MPI, Linear and binomial trees never.
others='Rabenseifner|Binomial|Bruck|TwoTree|Suara|ScatterAllgather|ReduceScatterGather|KNomial|Linear::'
others="$others|SplitTail|CombiningTree|PeerSlices|MultiLeader|Exchange::Run|ArrivalChain"
choice='choose|GreedyMapper|map_positions|SelectionState|SelectionCache|SelectionFileReader|JsonReader|Catalogue|NameParser|explain_|HierarchicalPhases'

look() {  # NAME OWN-PATTERN HEADER-LINE
  source=tests/consumer/named_call/$1.cpp
  for how in own umbrella; do
    object=$directory/named_$1_$how.o
    if [ $how = umbrella ]; then
      sed 's#^\#include <papcoll/.*#\#include <papcoll/papcoll.hpp>#' "$source" >"$directory/named_$1.cpp"
      source=$directory/named_$1.cpp
    fi
    "$compiler" -std=c++20 -O0 -pthread -I include -c "$source" -o "$object"
    if nm -C --defined-only "$object" | grep -E "$others|$choice"; then
      echo "FAILED: $1 ($how headers) compiles the above"
      failed=1
    fi
    if ! nm -C --defined-only "$object" | grep -q "$2"; then
      echo "FAILED: $1 ($how headers) does not compile $2"
      failed=1
    fi
  done
}

look static_schedule Ring
look arrival_driven LeaderFan
exit $failed
