#!/bin/bash
# One command that tries what papcoll is for: a training under stragglers, with the MPI library's
# allreduce and with papcoll's. What it concludes is computed from what it measured.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runs=9 sweeps=6

usage() {
  cat <<END
usage: scripts/demo.sh [--no-install]

  1. installs what is missing (scripts/install_dependencies.sh)
  2. builds the example ddp_digits and papcoll-bench in build/release
  3. trains a small network on handwritten digits with 4 ranks, one of them late in every step: with
     the MPI library's allreduce and with papcoll's in turns, $runs times each; says whether they differ
     by more than the noise (1 min)
  4. measures sizes with 2 ranks, together and with one late, $sweeps times; says at which sizes papcoll's
     tail is shorter or longer by more than the noise, and draws it (1 min)

It installs packages by apt-get, as root or by sudo; --no-install leaves that out. Results are left in
build/demo. Safe to run again. What it says is worth most on a machine that does nothing else.
END
}

install=true
case "${1:-}" in
  "") ;;
  --no-install) install=false ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

results=build/demo
step() { printf '\n== %s\n' "$*"; }

# train RUN ALLREDUCE[,FLAG]: the run's number is the seed of the stragglers.
train() {
  local run=$1 allreduce=${2%,*} file=$results/training-$2-$1.json flags=()
  if [[ $2 == *,* ]]; then flags=("--${2#*,}"); fi
  "${launch[@]}" "${four[@]}" -n 4 build/release/examples/ddp_digits --allreduce "$allreduce" \
    "${flags[@]}" --epochs 30 --stragglers "$run" --json "$file" >$results/training.log || {
    cat $results/training.log
    exit 1
  }
  trained+=("$file")
}

# sweep RUN PATTERN FLAGS…
sweep() {
  local run=$1 pattern=$2 file=$results/sweep-$2-$1.json
  shift 2
  printf '  run %s of %s   %s\n' "$run" "$sweeps" "$pattern"
  "${launch[@]}" "${two[@]}" -n 2 build/release/benchmarks/papcoll-bench allreduce --algorithm mpi \
    --algorithm auto --algorithm DynamicLeader --sizes 8,64,512,4k,32k,256k --arrival "$pattern" \
    "$@" --seed "$run" --time-limit 250ms --format json --output "$file"
  swept+=("$file")
}

if $install; then
  step "1/4 dependencies"
  scripts/install_dependencies.sh
fi

step "2/4 build (build/release)"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
# Where several MPI libraries are installed, mpicxx may be any of them.
options=()
if [[ ! -e build/release/CMakeCache.txt ]] && command -v mpicxx.openmpi >/dev/null; then
  options+=(-DMPI_CXX_COMPILER=mpicxx.openmpi)
fi
cmake --preset release "${options[@]}"
cmake --build --preset release --parallel "$(nproc)" --target ddp_digits papcoll-bench
mkdir -p $results

# The launcher of the MPI library that was found. Open MPI's must be told what others do anyway, and
# is given what is best for it: to yield while it waits where there are more ranks than processors (it
# is many times slower without), and a core for each rank where there are enough.
launch=("$(sed -n 's/^MPIEXEC_EXECUTABLE:FILEPATH=//p' build/release/CMakeCache.txt)")
four=() two=()
if "${launch[0]}" --version 2>&1 | grep -qE 'Open MPI|OpenRTE|PRRTE'; then
  launch+=(--allow-run-as-root --oversubscribe)
  crowded=(--bind-to none --mca mpi_yield_when_idle 1) roomy=(--bind-to core)
  if (($(nproc) < 4)); then four=("${crowded[@]}"); else four=("${roomy[@]}"); fi
  if (($(nproc) < 2)); then two=("${crowded[@]}"); else two=("${roomy[@]}"); fi
fi
# Debian's matplotlib belongs to Debian's Python, whatever python3 is first on the PATH.
python=python3
if [[ -x /usr/bin/python3 ]]; then python=/usr/bin/python3; fi

# oversubscribed RANKS: what a reader has to know of this machine.
oversubscribed() { if (($(nproc) < $1)); then echo " (oversubscribed)"; fi; }

step "3/4 training with 4 ranks on $(nproc) processors$(oversubscribed 4)"
cat <<END
Every step sums 77 KB of gradients over the ranks. In every step another rank computes 200 µs longer
than the others, who have to wait for it. Each run draws other ranks to be late, the same for all
algorithms.
END
if [[ -n $(oversubscribed 4) ]]; then
  echo "Ranks share processors here, so that times scatter more than with a processor for each."
fi
candidates=(mpi auto "auto,registered" DynamicLeader+Reproducible)
trained=()
for ((run = 1; run <= runs; run++)); do
  printf '  run %2s of %s\n' "$run" "$runs"
  for ((i = 0; i < ${#candidates[@]}; i++)); do  # another one begins each run
    train "$run" "${candidates[(run + i) % ${#candidates[@]}]}"
  done
done
cat <<END

mpi is the MPI library's allreduce; auto is what papcoll chooses; in auto, registered the gradients'
buffer is a papcoll::Registration's; under Reproducible the sum has the same bits whoever is late.
Medians of $runs runs, training with the shortest and the longest. In allreduce: of a step, the mean
of the ranks, with the wait for the late one, which nobody can avoid. Tail: last arrival to last exit. Do all ranks, and all runs, end with the same weights bit for bit? The loss
agrees, the last bits need not: each algorithm adds the ranks in its own order. Under Reproducible
that order never depends on who was late.

END
"$python" scripts/demo_tables.py training "${trained[@]}"

step "4/4 sweep of sizes with 2 ranks on $(nproc) processors$(oversubscribed 2)"
swept=()
for ((run = 1; run <= sweeps; run++)); do
  sweep "$run" balanced
  sweep "$run" one-late --spread 50us
done
cat <<END

Tail in µs, from the last arrival to the last exit: what the ranks wait for beyond what they must.
Less is better. Each number is the middle one of $sweeps runs' medians. In the rows of one-late one
rank comes 50 µs late; compare mpi with auto there, which is what a call without policies gets.

END
"$python" scripts/demo_tables.py sweep --output $results/sweep.json "${swept[@]}"
"$python" benchmarks/plot.py $results/sweep.json --metric tail --output $results/sweep.png

step "done"
echo "plot:    $results/sweep.png"
echo "results: $results/*.json"
