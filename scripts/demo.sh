#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One command that tries what papcoll is for: a training under stragglers, with the MPI library's
# allreduce and with papcoll's. What it concludes is computed from what it measured.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runs=9

usage() {
  cat <<END
usage: scripts/demo.sh [--no-install]

  1. installs what is missing of a compiler, CMake, an MPI library and a few headers
     (scripts/install_dependencies.sh --for demo)
  2. compiles one program, the example ddp_digits, in build/demo (1 min, the first time)
  3. trains a small network on handwritten digits with 4 ranks, one of them late in every step: with
     the MPI library's allreduce and with papcoll's in turns, $runs times each (1 min); then says by how
     much papcoll's steps are faster or slower, or that the noise hides a difference

It installs packages by apt-get, as root or by sudo; --no-install leaves that out. Results are left in
build/demo/results. Safe to run again. What it says is worth most on a machine that does nothing else.
END
}

install=true
case "${1:-}" in
  "") ;;
  --no-install) install=false ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

build=build/demo results=build/demo/results
step() { printf '\n== %s\n' "$*"; }

# train RUN ALLREDUCE[,FLAG]: the run's number is the seed of the stragglers.
train() {
  local run=$1 allreduce=${2%,*} file=$results/training-$2-$1.json flags=()
  if [[ $2 == *,* ]]; then flags=("--${2#*,}"); fi
  "${launch[@]}" -n 4 $build/examples/ddp_digits --allreduce "$allreduce" "${flags[@]}" --epochs 30 \
    --stragglers "$run" --json "$file" >$results/training.log || {
    cat $results/training.log
    exit 1
  }
  trained+=("$file")
}

step "1/3 dependencies"
if $install; then
  scripts/install_dependencies.sh --for demo
else
  echo "left as they are (--no-install)"
fi

step "2/3 build ($build)"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
# Where several MPI libraries are installed, mpicxx may be any of them.
options=()
if [[ ! -e $build/CMakeCache.txt ]] && command -v mpicxx.openmpi >/dev/null; then
  options+=(-DMPI_CXX_COMPILER=mpicxx.openmpi)
fi
cmake --preset demo "${options[@]}"
cmake --build --preset demo --parallel "$(nproc)"
mkdir -p $results

# The launcher of the MPI library that was found. Open MPI's must be told what others do anyway, and
# is given what is best for it: to yield while it waits where there are more ranks than processors (it
# is many times slower without), and a core for each rank where there are enough.
launch=("$(sed -n 's/^MPIEXEC_EXECUTABLE:FILEPATH=//p' $build/CMakeCache.txt)")
mpi=$("${launch[0]}" --version 2>&1 | sed -nE \
  -e 's/.*\((Open MPI|OpenRTE|PRRTE)\) *([0-9.]+).*/Open MPI \2/p' \
  -e 's/^ *Version: *([0-9.]+).*/MPICH \1/p' | head -n 1)
if [[ $mpi == "Open MPI"* ]]; then
  launch+=(--allow-run-as-root --oversubscribe)
  if (($(nproc) < 4)); then
    launch+=(--bind-to none --mca mpi_yield_when_idle 1)
  else
    launch+=(--bind-to core)
  fi
fi
where="4 ranks on $(nproc) processors"
if (($(nproc) < 4)); then where+=" (oversubscribed)"; fi

if ! timeout 1 getent hosts "$(hostname)" >/dev/null; then
  echo "Nothing knows this machine's name, $(hostname): Open MPI may wait 10 s for a name server at each start of a job."
  echo "A line '127.0.1.1 $(hostname)' in /etc/hosts ends that."
fi
step "3/3 training: $where, one of them 200 µs late in each step"
candidates=(mpi auto "auto,registered" DynamicLeader+Reproducible)
trained=()
for ((run = 1; run <= runs; run++)); do
  printf '  run %2s of %s: ' "$run" "$runs"
  for ((i = 0; i < ${#candidates[@]}; i++)); do  # another one begins each run
    candidate=${candidates[(run + i) % ${#candidates[@]}]}
    train "$run" "$candidate"
    printf ' %s' "$candidate"
  done
  echo
done
echo
python3 scripts/demo_tables.py --mpi "${mpi:-the MPI library}" --where "$where" "${trained[@]}"
cat <<END

Every step sums 77 KB of gradients over the ranks. Each run draws other ranks to be late, the same for
all algorithms. mpi is the MPI library's allreduce; auto is what papcoll chooses; in auto, registered the
gradients' buffer is a papcoll::Registration; under Reproducible the sum has the same bits whoever is
late. The table has medians of $runs runs. In allreduce: the mean time of a rank in a call, with the wait
for the late one, which no algorithm can avoid. Tail: from the last arrival to the last exit. Ranks
agree, runs agree: on the weights, bit for bit; the loss agrees anyway, and the last bits need not, since
each algorithm adds in an order of its own.

results: $results/*.json
END
