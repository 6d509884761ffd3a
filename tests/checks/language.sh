#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# language.sh COMPILER INCLUDES…: a compiler that is not told which C++ says so in one sentence, before
# anything else, whichever header of papcoll it reads; and one that is told to do without exceptions.
# clang++, which reads on after a fatal error, is asked of some headers.
set -u

compiler=$1
shift
command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 77; }
failed=0

# sentence HEADER SENTENCE FLAGS…: two errors, the sentence and the end of reading.
sentence() {
  header=$1 wanted=$2
  shift 2
  said=$(echo "#include <$header>" | LC_ALL=C "$compiler" -fsyntax-only "$@" -x c++ - 2>&1)
  errors=$(echo "$said" | grep -E '^[^ ].*: (fatal )?error: ')
  if [ "$(echo "$errors" | wc -l)" -ne 2 ] || ! echo "$errors" | head -n 1 | grep -q "$wanted" ||
    ! echo "$errors" | tail -n 1 | grep -q 'see_the_error_above'; then
    echo "FAILED: $header, by $compiler: $errors"
    failed=1
  fi
}

case $compiler in
  clang*) headers="papcoll/papcoll.hpp papcoll/core.hpp papcoll/communicator.hpp" ;;
  *) headers=$(find include gpu/include analysis/include -name '*.hpp' ! -name hwloc.hpp ! -name scotch.hpp | sed 's|.*include/papcoll|papcoll|' | sort) ;;
esac
for header in $headers; do
  sentence "$header" 'papcoll is written in C++20: compile with -std=c++20' -std=c++17 "$@"
done
sentence papcoll/papcoll.hpp 'compile without -fno-exceptions' -std=c++20 -fno-exceptions "$@"
if ! echo '#include <papcoll/call/papcoll.cpp>' | "$compiler" -std=c++20 -fsyntax-only "$@" \
  -include papcoll/base/config.hpp -x c++ - 2>&1 | grep -q 'a file of its own'; then
  echo "FAILED: papcoll.cpp, with a header of papcoll before it, is compiled in silence"
  failed=1
fi
exit $failed
