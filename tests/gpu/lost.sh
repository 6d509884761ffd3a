#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# lost.sh GPU_BENCH LAUNCHER…: of 4 ranks 3 are killed, one after the other, in each of three jobs; the
# others must all be told, within a second. See tests/faults/kill.sh for the launcher.
set -u

bench=$1
shift
export UCX_TLS=posix,self OMPI_MCA_btl_vader_single_copy_mechanism=none
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
failed=0

for job in 1 2 3; do
  # shellcheck disable=SC2016
  timeout --kill-after=5 35 "$@" sh -c 'trap "" USR1; "$@"; exit 0' sh "$bench" lost "$results" \
    "$job" >"$results/log" 2>&1
  told=$(cat "$results/$job".*.jsonl | grep -c '"outcome": "peer_lost", "seconds": 0\.')
  if [[ $told != 6 ]]; then
    echo "FAILED: job $job: $told of 6 survivors were told in time"
    cat "$results/$job".*.jsonl "$results/log"
    failed=1
  fi
done
exit $failed
