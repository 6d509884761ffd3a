#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the API reference by Doxygen into build/api_reference/html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<END
usage: scripts/api_reference.sh [--check] [DIRECTORY]

Builds the API reference into DIRECTORY/html (default: build/api_reference), with a search: open
html/index.html. Says what public names have no documentation, and then fails.

  --check   only looks for undocumented names, and writes no pages
END
}

check=false directory=build/api_reference
while (($# > 0)); do
  case "$1" in
    --check) check=true ;;
    -h | --help)
      usage
      exit 0
      ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) directory=$1 ;;
  esac
  shift
done

if ! command -v doxygen >/dev/null; then
  echo "SKIPPED: no doxygen (scripts/install_dependencies.sh installs it)"
  exit 77
fi

version() { sed -n "s/#define PAPCOLL_VERSION_$1 //p" include/papcoll/base/version.hpp; }
PAPCOLL_VERSION=$(version MAJOR).$(version MINOR).$(version PATCH)
PAPCOLL_REFERENCE=$directory
export PAPCOLL_VERSION PAPCOLL_REFERENCE
mkdir -p "$directory"

problems=$directory/problems.txt
html=YES
if $check; then html=NO; fi
{
  cat docs/Doxyfile
  echo "GENERATE_HTML = $html"
  echo "GENERATE_TAGFILE = $directory/papcoll.tag"
  echo "WARN_LOGFILE = $problems"
} | doxygen - >"$directory/doxygen.log" 2>&1 || {
  tail -n 5 "$directory/doxygen.log"
  echo "doxygen failed"
  exit 1
}
if [[ -s $problems ]]; then
  sed "s|^$PWD/||" "$problems"
  echo "$(wc -l <"$problems") problems: a public name needs a comment that begins with ///, see docs/reference.md"
  exit 1
fi
if $check; then
  echo "every public name is documented"
else
  echo "$directory/html/index.html"
fi
