# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the scripts that compare checkouts; sourced, not run.

# checkout_of DIRECTORY-OR-COMMIT EMPTY-DIRECTORY: prints where its include/ and README.md are.
checkout_of() {
  if [[ -d $1 ]]; then
    realpath "$1"
  else
    mkdir "$2/$1"
    git archive "$1" include README.md | tar -x -C "$2/$1" || return
    echo "$2/$1"
  fi
}
