#!/bin/bash
# How long papcoll's users wait for their compiler: user seconds of one file each, the best of some
# runs, in turns with those of another checkout of papcoll if one is given.
set -euo pipefail
shopt -s lastpipe  # add() is the end of pipes
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<END
usage: benchmarks/compile_time.sh [--runs N] [--compiler MPI-COMPILER] [CHECKOUT…]

Compiles with -O2 and prints user seconds, the least of N (default 3) runs, of this checkout and of
the others, in turns. A dash: it does not compile there. Nothing else should run meanwhile.
END
}

runs=3 compiler=mpicxx checkouts=("$PWD")
while (($# > 0)); do
  case "$1" in
    --runs) runs=${2:?--runs needs a number}; shift ;;
    --compiler) compiler=${2:?--compiler needs a program}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) checkouts+=("$(realpath "$1")") ;;
  esac
  shift
done

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

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
add() {  # NAME FLAGS; the program is read
  names+=("$1") flags+=("$2")
  cat >"$directory/${#names[@]}.cpp"
}

ring='papcoll::allreduce<papcoll::Ring, papcoll::MpiTransport>(comm, data);'
leader='papcoll::allreduce<papcoll::DynamicLeader, papcoll::ShmTransport>(comm, data);'
six='papcoll::allreduce(comm, data);
    papcoll::reduce(comm, data, papcoll::root{0});
    papcoll::bcast(comm, data, papcoll::root{0});
    papcoll::allgather(comm, data, all);
    papcoll::gather(comm, data, all, papcoll::root{0});
    papcoll::barrier(comm);'
program papcoll "$ring" | add "allreduce<Ring, MpiTransport>, papcoll.hpp" ""
program "allreduce communicator algorithms/static/ring" "$ring" | add "  its own headers" ""
program papcoll "$leader" | add "allreduce<DynamicLeader, ShmTransport>, papcoll.hpp" ""
program "allreduce communicator algorithms/arrival/leader_fan" "$leader" | add "  its own headers" ""
program papcoll 'papcoll::allreduce(comm, data);' | add "allreduce(comm, data)" ""
program papcoll "$six" | add "six collectives without policies" ""
echo '#include <papcoll/papcoll.hpp>' | add "papcoll.hpp, nothing called" ""
program papcoll "$ring" | add "allreduce<Ring, MpiTransport>, PAPCOLL_COMPILED" -DPAPCOLL_COMPILED
program papcoll "$six" | add "six collectives, PAPCOLL_COMPILED" -DPAPCOLL_COMPILED

seconds() {  # CHECKOUT FILE FLAGS
  local TIMEFORMAT=%U
  # shellcheck disable=SC2086
  { time "$compiler" -std=c++20 -O2 -pthread $3 -I "$1/include" -c "$2" -o "$directory/o" \
    2>/dev/null; } 2>&1
}

printf '%-52s' "user seconds, least of $runs ($compiler)"
printf ' %10s' "${checkouts[@]##*/}"
echo
for ((i = 0; i < ${#names[@]}; i++)); do
  best=()
  for ((run = 0; run < runs; run++)); do
    for c in "${!checkouts[@]}"; do
      took=$(seconds "${checkouts[c]}" "$directory/$((i + 1)).cpp" "${flags[i]}") || took=-
      if [[ -z ${best[c]:-} ]] || awk -v a="$took" -v b="${best[c]}" 'BEGIN { exit !(a < b) }'; then
        best[c]=$took
      fi
    done
  done
  printf '%-52s' "${names[i]}"
  printf ' %10s' "${best[@]}"
  echo
done
