#!/bin/sh
# headers.sh COMPILER FLAGS-FILE: every header compiles alone, and twice, without a warning; and none
# defines anything that two translation units could not both have.
set -u

compiler=$1 flags=$2

command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 77; }

# g++ sees them as a program of headers only, clang++ as one beside papcoll::compiled.
case $compiler in clang*) mode=-DPAPCOLL_COMPILED ;; *) mode=-UPAPCOLL_COMPILED ;; esac

headers=$(cd include && find papcoll -name '*.hpp' | sort)
count=0 failed=0
for header in $headers; do
  count=$((count + 1))
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
    "$compiler" @"$flags" $mode -fsyntax-only -x c++ - || { echo "FAILED: $header"; failed=$((failed + 1)); }
done

object=$(mktemp)
trap 'rm -f "$object"' EXIT
if for header in $headers; do echo "#include <$header>"; done |
    "$compiler" @"$flags" -c -x c++ - -o "$object"; then
  if nm -C --defined-only "$object" | grep -E ' [TDBRC] '; then
    echo "FAILED: the symbols above are not inline"
    failed=$((failed + 1))
  fi
else
  echo "FAILED: all headers together"
  failed=$((failed + 1))
fi

echo "$compiler: $count headers, $failed failed"
[ $failed -eq 0 ]
