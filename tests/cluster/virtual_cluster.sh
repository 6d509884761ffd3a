#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One machine pretends to be a cluster, so that papcoll is tested, and measured, across nodes. A
# node is a set of Linux namespaces: it has a network interface, a host name, System V memory and a
# /dev/shm of its own; a bridge joins the nodes. Works as root and, where the kernel lets users make
# namespaces, without.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

usage() {
  cat <<END
usage: virtual_cluster.sh [--ranks N,N…] [--rate RATE] [--time-limit SECONDS] -- COMMAND…

Runs COMMAND on the first node of a cluster that this machine pretends to be, and exits with its
status. Open MPI's and MPICH's launchers find in their environment what they need: the command is
mpirun as anywhere, or a script that calls it several times.

  --ranks N,N…      ranks for each node; as many nodes as numbers (default 2,2). mpirun fills the
                    nodes in this order: give it -n with the sum.
  --rate RATE       what a node sends, and receives, a second: 1gbit, 500mbit (default: as fast
                    as the kernel can)
  --time-limit S    ends everything after S seconds, with status 124 (default 600)

  tests/cluster/virtual_cluster.sh --ranks 1,3,2 -- mpirun.openmpi -n 6 hostname
  tests/cluster/virtual_cluster.sh --ranks 2,2,2,2 --rate 1gbit -- mpirun.openmpi -n 8 \\
    build/openmpi/benchmarks/papcoll-bench allreduce --bytes 64k,16m

The nodes are called node0, node1…; they share the processors, the files and the process numbers.
Whatever still runs when COMMAND, or this script, ends in whatever way, is killed with the cluster.
Exits with 77 and a reason where this machine cannot be a cluster. MPICH's ranks need
-genv LD_PRELOAD BUILD/tests/cluster/libpapcoll_mpich_cluster.so, see mpich_finalize.cpp.
END
}

wrong() {
  echo "virtual_cluster.sh: $*" >&2
  usage >&2
  exit 2
}
impossible() {
  echo "SKIPPED: $*"
  exit 77
}

ranks=2,2 rate="" time_limit=600
while (($# > 0)); do
  case "$1" in
    --ranks | --rate | --time-limit)
      (($# > 1)) || wrong "$1 needs a value"
      name=${1#--}
      printf -v "${name/-/_}" '%s' "$2"
      shift
      ;;
    --) shift; break ;;
    -h | --help) usage; exit 0 ;;
    -*) wrong "no option $1" ;;
    *) break ;;
  esac
  shift
done
(($# > 0)) || wrong "no command"
[[ $ranks =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] || wrong "--ranks $ranks: numbers and commas"
[[ -z $rate || $rate =~ ^[0-9]+[kmg]?bit$ ]] || wrong "--rate $rate: as in 1gbit or 500mbit"
[[ $time_limit =~ ^[1-9][0-9]*$ ]] || wrong "--time-limit $time_limit: a number of seconds"

for tool in unshare nsenter setpriv mount ip tc; do
  command -v $tool >/dev/null || impossible "no $tool (scripts/install_dependencies.sh gets it)"
done

# One process namespace for all nodes: the kernel kills all that is in it when its first process
# ends, and that is killed when this script ends, by SIGKILL too.
cluster=(--pid --fork --kill-child --mount --propagation private --net --ipc --uts --mount-proc)

# All that cluster_init.sh will ask of the kernel, so that what fails there is an error.
# shellcheck disable=SC2016
parts='
  mount -t tmpfs trial /dev/shm
  mount -t sysfs trial /sys
  ip link add name switch type bridge
  ip link add name port type veth peer name eth0
  if [ -n "$1" ]; then tc qdisc add dev port root tbf rate "$1" burst 128kb latency 50ms; fi
  unshare --net --ipc --uts --mount --propagation private true'
may() { reason=$(unshare "$@" "${cluster[@]}" sh -e -c "$parts" sh "$rate" 2>&1 >/dev/null); }

as_user=()  # an ordinary user may make the other namespaces only inside a user namespace
if ! may; then
  as_user=(--user --map-root-user)
  may "${as_user[@]}" || impossible "this machine does not allow a cluster: ${reason//$'\n'/; }"
fi

setpriv --pdeathsig KILL unshare "${as_user[@]}" "${cluster[@]}" \
  "$here/cluster_init.sh" "$ranks" "$rate" "$time_limit" "$@" <&0 &
status=0
wait $! || status=$?
exit $status
