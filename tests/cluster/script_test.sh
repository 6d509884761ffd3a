#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What virtual_cluster.sh promises, apart from MPI: see nodes_test.cpp for that.
# shellcheck disable=SC2016,SC2317  # text for other shells; functions called by name
set -u
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
script=$here/virtual_cluster.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

failed=0
# expect WHAT EXPECTED SEEN
expect() {
  if [[ "$2" != "$3" ]]; then
    printf 'FAILED: %s\n  expected: %s\n  seen:     %s\n' "$1" "$2" "$3"
    failed=1
  fi
}

if ! reason=$("$script" -- true); then
  echo "$reason"
  [[ $reason == SKIPPED:* ]] && exit 77
  exit 1
fi

"$script" -- sh -c 'exit 7'
expect "the command's status" 7 $?
expect "its arguments" "a b|c'd||*|" "$("$script" -- printf '%s|' 'a b' "c'd" '' '*')"
expect "its directory and input" "$PWD hello" \
  "$(echo hello | "$script" -- sh -c 'echo "$PWD $(cat)"')"
rates='for node in node0 node1; do "$0" $node tc qdisc show dev eth0; done'
expect "each node's network has the rate" "rate 3Mbit rate 3Mbit " \
  "$("$script" --rate 3mbit -- sh -c "$rates" "$here/node_shell.sh" |
    grep -o 'rate [^ ]*' | tr '\n' ' ')"

for wrong in "" "--ranks" "--ranks 2,x -- true" "--ranks ,2 -- true" "--rate 3 -- true" \
  "--time-limit 1m -- true" "--nodes 2 -- true"; do
  # shellcheck disable=SC2086
  "$script" $wrong >"$scratch/output" 2>&1
  expect "status of '$wrong'" 2 $?
done

# Where namespaces are forbidden. No cluster can be forbidden where no user namespace can be made.
forbidden='echo 0 >/proc/sys/user/max_net_namespaces && exec "$0" -- true'
if unshare --user --map-root-user true 2>/dev/null; then
  unshare --user --map-root-user sh -c "$forbidden" "$script" >"$scratch/output" 2>&1
  expect "status without namespaces" 77 $?
  expect "the reason" "SKIPPED: this machine does not allow a cluster: unshare" \
    "$(cut -d : -f 1-3 "$scratch/output")"
fi

# Processes of a cluster are known by their environment.
left() { grep -lsF "PAPCOLL_CLUSTER_TEST=$scratch" /proc/[0-9]*/environ | wc -l; }
await() {
  local tries
  for ((tries = 0; tries < 500; ++tries)); do
    if "$@"; then return; fi
    sleep 0.02
  done
}
nothing_left() { (($(left) == 0)); }

# Ranks, daemons: whatever has cut its ties. Says when it runs.
cat >"$scratch/command" <<'END'
#!/bin/bash
for node in 0 1; do setsid "$1" "node$node" "trap '' TERM HUP INT; sleep 1000" & done
touch "$2"
[[ ${3:-} ]] || wait
END
chmod +x "$scratch/command"
start() {
  rm -f "$scratch/runs"
  PAPCOLL_CLUSTER_TEST=$scratch "$script" "$@" >"$scratch/output" 2>&1
}

start -- "$scratch/command" "$here/node_shell.sh" "$scratch/runs" ends
expect "status of a command that leaves processes" 0 $?
await nothing_left
expect "processes left by a command" 0 "$(left)"

start --time-limit 1 -- "$scratch/command" "$here/node_shell.sh" "$scratch/runs"
expect "status at the time limit" 124 $?
await nothing_left
expect "processes left after the time limit" 0 "$(left)"

for signal in TERM HUP KILL; do
  rm -f "$scratch/runs"
  PAPCOLL_CLUSTER_TEST=$scratch "$script" -- "$scratch/command" "$here/node_shell.sh" \
    "$scratch/runs" >"$scratch/output" 2>&1 &
  await test -e "$scratch/runs"
  expect "processes before SIG$signal" true "$( (($(left) > 5)) && echo true)"
  kill -s $signal $!
  await nothing_left
  expect "processes left after SIG$signal" 0 "$(left)"
done 2>/dev/null

exit $failed
