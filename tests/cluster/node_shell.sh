#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# node_shell.sh [OPTION…] nodeN WORD…: what ssh is on a real cluster. Joins the words and gives them
# to a shell on that node of the virtual cluster that we are in; ssh's options are ignored. Unlike
# ssh it keeps the environment and the directory.
set -eu

while [[ $1 == -* ]]; do shift; done
read -r -a pids <<<"$VIRTUAL_CLUSTER_PIDS"
pid=${pids[${1#node}]}
shift
exec nsenter --target "$pid" --net --ipc --uts --mount \
  env --chdir="$PWD" TMPDIR=/dev/shm/tmp bash -c "$*"
