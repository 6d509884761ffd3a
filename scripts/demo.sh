#!/bin/bash
# One command that shows what papcoll is for: a training made faster under stragglers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<END
usage: scripts/demo.sh [--no-install]

  1. installs what is missing (scripts/install_dependencies.sh)
  2. builds the examples and papcoll-bench in build/release
  3. trains a small network on handwritten digits with 4 ranks, some of them late: once with the MPI
     library's allreduce, once with papcoll's, and prints both in a table
  4. measures a short sweep of sizes and draws it

Results are left in build/demo. Safe to run again.
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

train() {
  local allreduce=$1 file=$2
  "${launch[@]}" -n 4 build/release/examples/ddp_digits --allreduce "$allreduce" --json "$file"
}

sweep() {
  "${launch[@]}" -n 2 build/release/benchmarks/papcoll-bench allreduce --algorithm mpi \
    --algorithm auto --sizes 8:1M --format json --output "$1"
  # Debian's matplotlib belongs to Debian's Python, whatever python3 is first on the PATH.
  local python=python3
  if [[ -x /usr/bin/python3 ]]; then python=/usr/bin/python3; fi
  "$python" benchmarks/plot.py "$1" --output "$2"
}

if $install; then
  step "1/4 dependencies"
  scripts/install_dependencies.sh
fi

step "2/4 build"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
cmake --preset release
cmake --build --preset release --parallel "$(nproc)" --target ddp_digits papcoll-bench
mkdir -p $results

# The launcher of the MPI library that was found; Open MPI's must be told what others do anyway.
launch=("$(sed -n 's/^MPIEXEC_EXECUTABLE:FILEPATH=//p' build/release/CMakeCache.txt)")
if "${launch[0]}" --version 2>&1 | grep -qE 'Open MPI|OpenRTE|PRRTE'; then
  launch+=(--allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
fi

step "3/4 training with 4 ranks and stragglers"
train mpi $results/train-mpi.json
train auto $results/train-papcoll.json

step "4/4 sweep of sizes"
sweep $results/sweep.json $results/sweep.png

step "done"
echo "results: $results/"
