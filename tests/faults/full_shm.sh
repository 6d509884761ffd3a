#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# full_shm.sh LAUNCHER… PROGRAM: runs a job that has a small /dev/shm of its own, which papcoll's memory
# is in.
set -u

unshare --user --map-root-user --mount mount -t tmpfs tmpfs /dev/shm 2>/dev/null ||
  { echo "SKIPPED: a file system cannot be mounted here"; exit 77; }

# The MPI library's own memory must not be in /dev/shm.
export PAPCOLL_SHM=named UCX_TLS=sysv,self OMPI_MCA_btl=self,tcp
# shellcheck disable=SC2016
exec timeout --kill-after=10 60 unshare --user --map-root-user --mount \
  sh -c 'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec "$@"' sh "$@"
