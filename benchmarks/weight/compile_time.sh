#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How long papcoll's users wait for their compiler, and how much code they get.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=benchmarks/weight/checkouts.sh
. benchmarks/weight/checkouts.sh

usage() {
  cat <<END
usage: benchmarks/weight/compile_time.sh [--runs N] [--compiler MPI-COMPILER] [CHECKOUT | COMMIT…]

Compiles with -O2, this checkout and the others in turns, and prints for each file the user seconds,
the least of N (default 3) runs, these in units, and the KB of code (text). A unit is what
benchmarks/weight/compile_unit.cpp takes at best. A dash: it does not compile there. Nothing else
should run meanwhile.
END
}

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

runs=3 compiler=mpicxx checkouts=("$PWD")
while (($# > 0)); do
  case "$1" in
    --runs) runs=${2:?--runs needs a number}; shift ;;
    --compiler) compiler=${2:?--compiler needs a program}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) checkouts+=("$(checkout_of "$1" "$directory")") ;;
  esac
  shift
done

program() {  # HEADERS CALLS: a program with them
  local header
  for header in $1; do echo "#include <papcoll/$header.hpp>"; done
  cat <<END
#include <vector>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    std::vector<double> data(8), all(8 * 64);
    static_cast<void>(all);
    $2
  }
  MPI_Finalize();
}
END
}

names=() flags=()
add() {  # NAME FLAGS TEXT; the text may be a file in a checkout
  names+=("$1") flags+=("$2")
  echo "$3" >"$directory/${#names[@]}.cpp"
}

ring='papcoll::allreduce<papcoll::Ring, papcoll::MpiTransport>(comm, data);'
leader='papcoll::allreduce<papcoll::DynamicLeader, papcoll::ShmTransport>(comm, data);'
six='papcoll::allreduce(comm, data);
    papcoll::reduce(comm, data, papcoll::root{0});
    papcoll::bcast(comm, data, papcoll::root{0});
    papcoll::allgather(comm, data, all);
    papcoll::gather(comm, data, all, papcoll::root{0});
    papcoll::barrier(comm);'
first=$(awk '/^```cpp/ { inside = 1; next } /^```/ { exit } inside' README.md)
add "a unit" "" "#include \"$PWD/benchmarks/weight/compile_unit.cpp\""
add "allreduce<Ring, MpiTransport>, papcoll.hpp" "" "$(program papcoll "$ring")"
add "  its own headers" "" "$(program "allreduce communicator algorithms/static/ring" "$ring")"
add "allreduce<DynamicLeader, ShmTransport>, papcoll.hpp" "" "$(program papcoll "$leader")"
add "  its own headers" "" \
  "$(program "allreduce communicator algorithms/arrival/leader_fan" "$leader")"
add "the README's first program" "" "$first"
add "  its own headers" "" "${first/papcoll.hpp/automatic.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/communicator.hpp}"
add "six collectives without policies" "" "$(program papcoll "$six")"
add "papcoll.hpp, nothing called" "" "#include <papcoll/papcoll.hpp>"
add "allreduce<Ring, MpiTransport>, PAPCOLL_COMPILED" -DPAPCOLL_COMPILED \
  "$(program papcoll "$ring")"
add "  its own headers" -DPAPCOLL_COMPILED \
  "$(program "allreduce communicator algorithms/static/ring" "$ring")"
add "six collectives, PAPCOLL_COMPILED" -DPAPCOLL_COMPILED "$(program papcoll "$six")"
add "what is compiled once" "" "#include <papcoll/call/papcoll.cpp>"

seconds() {  # CHECKOUT FILE FLAGS
  local TIMEFORMAT=%U
  # shellcheck disable=SC2086
  { time "$compiler" -std=c++20 -O2 -pthread $3 -I "$1/include" -c "$2" -o "$directory/o" \
    2>/dev/null; } 2>&1
}

printf '%-52s' "$compiler, least of $runs"
printf ' %26s' "${checkouts[@]##*/}"
printf '\n%-52s' ''
for _ in "${checkouts[@]}"; do printf ' %8s %8s %8s' seconds units KB; done
echo
unit=''
for ((i = 0; i < ${#names[@]}; i++)); do
  best=() text=()
  for ((run = 0; run < runs; run++)); do
    for c in "${!checkouts[@]}"; do
      took=$(seconds "${checkouts[c]}" "$directory/$((i + 1)).cpp" "${flags[i]}") || took=-
      if [[ -z ${best[c]:-} ]] || awk -v a="$took" -v b="${best[c]}" 'BEGIN { exit !(a < b) }'; then
        best[c]=$took
      fi
      text[c]=$(size "$directory/o" | awk 'NR == 2 { print $1 }')
    done
  done
  [[ -n $unit ]] || unit=$(printf '%s\n' "${best[@]}" | sort -g | head -n 1)
  printf '%-52s' "${names[i]}"
  for c in "${!checkouts[@]}"; do
    awk -v s="${best[c]}" -v u="$unit" -v t="${text[c]}" 'BEGIN {
      if (s == "-") printf " %8s %8s %8s", s, s, s
      else printf " %8.1f %8.1f %8.0f", s, s / u, t / 1000 }'
  done
  echo
done
