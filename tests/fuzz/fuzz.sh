#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One reader gets mutations of its part of the corpus. Each is read within 5 s and 1 GB, and none
# ends the program; one that does is left in the current directory.
#   fuzz.sh PAPCOLL_FUZZ READER [options of libFuzzer]
set -eu
fuzz=$1 reader=$2
shift 2
corpus=$(realpath "$(dirname "$0")/corpus/$reader")
directory=$(mktemp -d -p /dev/shm)  # readers open many small files
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/found"
echo 'leak:libhwloc' >"$directory/suppressions"  # of strings that it refuses
export PAPCOLL_FUZZ_READER=$reader TMPDIR=$directory LSAN_OPTIONS=suppressions=$directory/suppressions
"$fuzz" -rss_limit_mb=1024 -malloc_limit_mb=1024 -timeout=5 -verbosity=0 -print_final_stats=1 \
  -artifact_prefix="$reader." "$@" "$directory/found" "$corpus"
