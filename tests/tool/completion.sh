#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# completion.sh PAPCOLL: what tools/completion/papcoll.bash completes.
set -u
# shellcheck disable=SC1091 # checked by itself
. tools/completion/papcoll.bash

# completes LINE…: its last word, as COMPREPLY then has it.
completes() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _papcoll_complete "$1"
  echo "${COMPREPLY[*]}"
}

status=0
# expect WORDS LINE…
expect() {
  local found
  found=$(completes "${@:2}")
  [ "$found" = "$1" ] && return
  echo "${*:2}: '$found', and not '$1'"
  status=1
}

expect 'simulate' "$1" sim
expect '--buffers --bytes' "$1" explain allreduce --b
expect 'arena' "$1" explain allreduce --buffers ar
expect 'by-core by-socket by-node' "$1" map Ring --placement by
expect '' "$1" list --json no
exit $status
