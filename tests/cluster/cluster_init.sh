#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cluster_init.sh RANKS RATE TIME_LIMIT COMMAND…: the first process of a virtual cluster, started
# by virtual_cluster.sh in namespaces of its own. Makes the nodes, joins them, runs the command.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# What a node does before it sleeps: the namespaces live as long as a process is in them.
if [[ $1 == --node ]]; then
  name=$2 hosts=$3 slots=$4
  hostname "$name"
  ip link set lo up
  mount -t sysfs sysfs /sys  # UCX looks there for the interfaces
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  # Each node needs a place for temporary files of its own: Open MPI's daemons take each other's
  # for theirs. It is in /dev/shm because no program can be there, which /tmp may be full of.
  mkdir -m 1777 /dev/shm/tmp
  printf '%s' "$hosts" >/dev/shm/tmp/hosts
  printf '%s' "$slots" >/dev/shm/tmp/slots.openmpi
  printf '%s' "${slots// slots=/:}" >/dev/shm/tmp/slots.mpich
  mount --bind /dev/shm/tmp/hosts /etc/hosts
  echo ready
  exec sleep infinity
fi

IFS=, read -r -a ranks <<<"$1"
rate=$2 time_limit=$3
shift 3

address() { echo "10.77.$(($1 / 250)).$(($1 % 250 + 1))"; }

# Waits until what follows says what is expected. Kernel work that ends soon, but not at once.
until_says() {
  local expected=$1 tries
  shift
  for ((tries = 0; tries < 1000; ++tries)); do
    if [[ "$("$@")" == *"$expected"* ]]; then return; fi
    sleep 0.01
  done
  echo "cluster_init.sh: '$*' never said '$expected'" >&2
  exit 1
}

limit_rate() { tc qdisc add dev "$1" root tbf rate "$rate" burst 128kb latency 50ms; }

hosts="127.0.0.1 localhost"$'\n' slots=""
for ((i = 0; i < ${#ranks[@]}; ++i)); do
  hosts+="$(address "$i") node$i"$'\n'
  slots+="node$i slots=${ranks[i]}"$'\n'
done

ip link add name switch type bridge
ip link set switch up
pids=()
for ((i = 0; i < ${#ranks[@]}; ++i)); do
  exec {says}< <(exec unshare --net --ipc --uts --mount --propagation private \
    "${BASH_SOURCE[0]}" --node "node$i" "$hosts" "$slots")
  pids[i]=$!
  read -r -u "$says" || exit 1
  in_node=(nsenter --target "${pids[i]}" --net)
  ip link add name "port$i" type veth peer name eth0 netns "${pids[i]}"
  ip link set "port$i" master switch up
  "${in_node[@]}" ip address add "$(address "$i")/16" dev eth0
  "${in_node[@]}" ip link set eth0 up
  if [[ $rate ]]; then
    limit_rate "port$i"
    "${in_node[@]}" bash -c "rate=$rate; $(declare -f limit_rate); limit_rate eth0"
  fi
  # What most clusters have. BBR, the default of some machines, measures the network by itself.
  "${in_node[@]}" sysctl -qw net.ipv4.tcp_congestion_control=cubic 2>/dev/null || true
done
for ((i = 0; i < ${#ranks[@]}; ++i)); do  # UCX does without an interface that is not up yet
  until_says " UP " nsenter --target "${pids[i]}" --net ip -brief link show eth0
done

export VIRTUAL_CLUSTER_PIDS="${pids[*]}"

# Ranks of all nodes share the processors: binding would bind one rank of each node to the same
# core, and who waits must yield.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_orte_default_hostfile=/dev/shm/tmp/slots.openmpi
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent="$here/node_shell.sh"
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1

export HYDRA_HOST_FILE=/dev/shm/tmp/slots.mpich HYDRA_IFACE=eth0
export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$here/node_shell.sh"
export UCX_NET_DEVICES=eth0 UCX_TLS="${UCX_TLS:-tcp,posix,cma,self}"

# With --foreground the command may read from a terminal; what it leaves behind dies with us.
status=0
timeout --foreground --kill-after=2 "$time_limit" \
  "$here/node_shell.sh" node0 "$(printf '%q ' "$@")" || status=$?
if ((status == 124)); then echo "virtual_cluster.sh: not done after $time_limit s" >&2; fi
exit $status
