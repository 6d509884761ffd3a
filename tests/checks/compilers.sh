#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# compilers.sh FLAGS-FILE: every g++ 11 or newer and clang++ 14 or newer that the PATH has under a name
# with a number (g++-12, clang++-16), but for those that other tests use, reads all headers, with the
# flags alone and in the modes that users compile in.
# compilers.sh FLAGS-FILE modes|each-mode COMPILER: one compiler reads the public headers in all of these
# modes at once, or also the others that users may include, in each.
# compilers.sh FLAGS-FILE DIRECTORY MPI-COMPILER LAUNCHER…: all headers, every collective and the first
# example are compiled in DIRECTORY at -O2 and at -O3, where a compiler warns of more, and the example
# is run.
#
# Warnings are counted; they are failures where the flags have -Werror. PAPCOLL_COMPILERS="g++-11
# clang++-19" names the compilers instead of the PATH.
set -euo pipefail

flags=$1
shift

numbered() {  # NAME OLDEST: the programs NAME-N of the PATH, N being OLDEST or more, in order
  compgen -c "$1-" | sed -nE "s/^${1//+/[+]}-([0-9]+)$/\1/p" | sort -nu |
    awk -v name="$1" -v oldest="$2" '$1 >= oldest { print name "-" $1 }'
}

program_of() { realpath "$(command -v "$1")" 2>/dev/null || true; }

if [[ ${1:-} == modes || ${1:-} == each-mode ]]; then
  compilers=("$2")
  if [[ -z $(program_of "$2") ]]; then
    echo "SKIPPED: no $2"
    exit 77
  fi
elif [[ -n ${PAPCOLL_COMPILERS:-} ]]; then
  read -ra compilers <<<"$PAPCOLL_COMPILERS"
else
  compilers=()
  for compiler in $(numbered g++ 11) $(numbered clang++ 14); do
    # headers.py reads all headers by these.
    if (($# == 0)) && [[ $(program_of "$compiler") == $(program_of "${compiler%-*}") ]]; then continue; fi
    compilers+=("$compiler")
  done
  if ((${#compilers[@]} == 0)); then
    echo "SKIPPED: no numbered compilers (g++-N, clang++-N) but those that the other tests use, too"
    exit 77
  fi
fi

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
find include gpu/include analysis/include -name '*.hpp' ! -name hwloc.hpp ! -name scotch.hpp ! -name cuda_runtime.hpp ! -name cuda_faults.hpp ! -name cuda_ipc_transport.hpp |
  sed -E 's|^([a-z]+/)?include/(.*)|#include <\2>|' | sort >"$here/all_headers.cpp"
# What papcoll-profile records with is compiled by papcoll's build alone.
grep -v '<papcoll/profile/' "$here/all_headers.cpp" >"$here/users_headers.cpp"
grep -E '<papcoll/[^/]+>' "$here/all_headers.cpp" >"$here/public_headers.cpp"

failed=0 skipped=0
# attempt WHAT COMMAND…: one line on how the command went.
attempt() {
  local what=$1 outcome=ok warnings
  shift
  "$@" >"$here/log" 2>&1 || outcome=FAILED
  warnings=$(grep -cE '^[^ ].*: warning: ' "$here/log") || true
  printf '%-11s %-32s %s, %d warnings\n' "$compiler" "$what" "$outcome" "$warnings"
  if [[ $outcome != ok ]]; then failed=$((failed + 1)); fi
  if [[ $outcome != ok ]] || ((warnings > 0)); then cat "$here/log"; fi
}

# reads WHICH FLAG…: these headers.
reads() {
  attempt "reads $1 headers${2:+, ${*:2}}" "$compiler" @"$flags" "${@:2}" -fsyntax-only "$here/$1_headers.cpp"
}

# has FLAG…: the compiler and its libraries know them.
has() { echo '#include <cstddef>' | "$compiler" -Werror "$@" -fsyntax-only -x c++ - 2>"$here/log"; }

# find_modes: leaves what the compiler has of the modes that users compile in, in the array modes.
# libc++ and libstdc++'s debug mode do not go together.
find_modes() {
  local standard
  modes=(-fno-rtti -ffast-math)
  for standard in -std=c++2c -std=c++2b; do
    if has $standard; then
      modes+=("$standard")
      break
    fi
  done
  if [[ $compiler == clang* ]] && has -stdlib=libc++; then
    modes+=(-stdlib=libc++)
    return
  fi
  modes+=(-D_GLIBCXX_DEBUG)
  if [[ $compiler == clang* ]]; then
    echo "SKIPPED: $compiler has no libc++ (Debian's packages libc++-dev and libc++abi-dev)"
    skipped=1
  fi
}

for compiler in "${compilers[@]}"; do
  case ${1:-} in
    "")
      reads all
      find_modes
      reads users "${modes[@]}"
      continue
      ;;
    modes)
      find_modes
      reads public "${modes[@]}"
      continue
      ;;
    each-mode)
      find_modes
      for mode in "${modes[@]}" -ffinite-math-only; do reads users "$mode"; done
      if [[ " ${modes[*]} " != *_DEBUG* ]]; then reads users -D_GLIBCXX_DEBUG; fi
      continue
      ;;
  esac
  export OMPI_CXX=$compiler MPICH_CXX=$compiler
  for level in -O2 -O3; do
    attempt "$level all headers" "$compiler" @"$flags" $level -c "$here/all_headers.cpp" -o "$1/object.o"
    for source in tests/consumer/all_collectives.cpp examples/01_first_allreduce.cpp; do
      attempt "$level $(basename $source)" "$compiler" @"$flags" $level -c $source -o "$1/object.o"
    done
    attempt "$level link" "$2" -pthread "$1/object.o" -o "$1/program"
    attempt "$level run" timeout 120 "${@:3}" "$1/program"
  done
done
if ((failed)); then exit 1; fi
if ((skipped)); then exit 77; fi
