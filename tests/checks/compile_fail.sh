#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# compile_fail.sh COMPILER FLAGS-FILE SOURCE DIRECTORY: the source must be refused, and for the right reason.
#
# In the source:
#   // EXPECT: a sentence       must stand in an error or note (several lines: each must)
#   // EXPECT(g++): a sentence  likewise, for one compiler
#   // ERRORS: 1                optional: the exact number of errors
# With -DPAPCOLL_TEST_CONTROL the source is its own corrected variant and must compile, so that a
# typing error cannot pass for the refusal; one compiler looks for that, clang++ where there is one.
# Inline namespaces are removed before the comparison.
set -u

compiler=$1 flags=$2 source=$3 precompiled=$4

command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; exit 77; }

case $(grep -m 1 -E '^#(include <papcoll/|if)' "$source") in
  '#include <papcoll/core.hpp>') precompiled=$precompiled/core_$compiler.hpp ;;
  *) precompiled=$precompiled/others_$compiler.hpp ;;
esac

limit=
case $compiler in clang*) limit=-ferror-limit=0 ;; esac

output=$(mktemp)
trap 'rm -f "$output"' EXIT
compile() {  # PAPCOLL_COMPILED: without the code that has no say in it, twice as fast
  # shellcheck disable=SC2086
  LC_ALL=C "$compiler" @"$flags" -DPAPCOLL_COMPILED -include "$precompiled" -fsyntax-only \
    -fmessage-length=0 $limit "$@" "$source" >"$output" 2>&1
}

case $compiler in clang*) control=true ;; *) command -v clang++ >/dev/null && control=false || control=true ;; esac
if $control && ! compile -DPAPCOLL_TEST_CONTROL; then
  cat "$output"
  echo "FAILED: does not compile with -DPAPCOLL_TEST_CONTROL"
  exit 1
fi
if compile; then
  echo "FAILED: compiles"
  exit 1
fi

# Lines without a place quote the source, where the sentence may stand, too. Those that declare a
# collective, or delete a function, say how to write it right.
messages=$(grep -E '^[^ ].*:[0-9]+(:[0-9]+)?: |^ *([0-9]+ [|] *)?(PAPCOLL_(UNEVEN_)?COLLECTIVE|.*= delete;  // papcoll:)' "$output" |
  sed -E 's/\bv[0-9]+_[0-9]+[a-z_]*:://g')

verdict=0
only=$(printf '%s' "$compiler" | sed 's/+/[+]/g')
sentences=$(sed -nE "s|^ *// EXPECT(\($only\))?: *||p" "$source")
if [ -z "$sentences" ]; then
  echo "FAILED: the source has no line '// EXPECT: sentence'"
  verdict=1
fi
while IFS= read -r sentence; do
  if ! printf '%s\n' "$messages" | grep -qF -- "$sentence"; then
    echo "FAILED: not said by $compiler: $sentence"
    verdict=1
  fi
done <<END
$sentences
END

wanted=$(sed -nE 's|^ *// ERRORS: *([0-9]+).*|\1|p' "$source")
said=$(printf '%s\n' "$messages" | grep -cE ': (fatal )?error: ')
if [ -n "$wanted" ] && [ "$said" -ne "$wanted" ]; then
  echo "FAILED: $said errors instead of $wanted"
  verdict=1
fi
[ $verdict -eq 0 ] || cat "$output"
exit $verdict
