#!/bin/sh
# language.sh COMPILER INCLUDES…: a compiler that is not told which C++ says so in one sentence, before
# anything else, whichever header of papcoll it reads. clang++, which reads on after a fatal error, is
# asked of some.
set -u

compiler=$1
shift
command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 77; }

case $compiler in
  clang*) headers="papcoll/papcoll.hpp papcoll/core.hpp papcoll/communicator.hpp" ;;
  *) headers=$(cd include && find papcoll -name '*.hpp' ! -name hwloc.hpp | sort) ;;
esac
failed=0
for header in $headers; do
  said=$(echo "#include <$header>" | LC_ALL=C "$compiler" -std=c++17 -fsyntax-only "$@" -x c++ - 2>&1)
  errors=$(echo "$said" | grep -E '^[^ ].*: (fatal )?error: ')
  if [ "$(echo "$errors" | wc -l)" -ne 2 ] ||
    ! echo "$errors" | head -n 1 | grep -q 'papcoll is written in C++20: compile with -std=c++20' ||
    ! echo "$errors" | tail -n 1 | grep -q 'see_the_error_above'; then
    echo "FAILED: $header, by $compiler: $errors"
    failed=1
  fi
done
exit $failed
