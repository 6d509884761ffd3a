#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How many of its functions papcoll enters from a user's call to the first byte that moves.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=benchmarks/weight/checkouts.sh
. benchmarks/weight/checkouts.sh

usage() {
  cat <<END
usage: benchmarks/weight/call_walk.sh [--names] [--compiler MPI-COMPILER] [CHECKOUT | COMMIT…]

Of warm calls with 64 KB a rank, compiled without optimisation, on 2 ranks: this checkout's and the
others'. --names: and which. The standard library's functions do not count, nor those of what papcoll
has in place of its vectors and pointers. MPIRUN is the launcher (default: mpirun).
END
}

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

containers=base/vector.hpp,base/pointers.hpp,base/pointers.hpp
names=() compiler=mpicxx checkouts=("$PWD")
while (($# > 0)); do
  case "$1" in
    --names) names=(names) ;;
    --compiler) compiler=${2:?--compiler needs a program}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) checkouts+=("$(checkout_of "$1" "$directory")") ;;
  esac
  shift
done

for c in "${checkouts[@]}"; do
  "$compiler" -std=c++20 -O0 -pthread -finstrument-functions \
    "-finstrument-functions-exclude-file-list=/usr/,$containers" \
    -I "$c/include" benchmarks/weight/call_walk.cpp -rdynamic \
    -Wl,--wrap=memmove,--wrap=memcpy,--wrap=process_vm_readv -ldl -o "$directory/walk"
  echo "${c##*/}"
  for walk in automatic by_name persistent; do
    printf '  %-12s' "$walk"
    ${MPIRUN:-mpirun} -n 2 "$directory/walk" "$walk" "${names[@]}"
  done
done
