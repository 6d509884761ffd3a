#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ddp_digits.sh PROGRAM LAUNCHER…: under Reproducible the weights of the trained network are the same
# bit for bit, whoever is late and by how much, with all algorithms that add rank after rank.
set -eu

program=$1
shift

weights() {
  "$launcher" "$@" | sed -n 's/^weights *\([0-9a-f]*\), the same on all .*/\1/p'
}

launcher=$1
shift
first="" verdict=0
while read -r arguments; do
  # shellcheck disable=SC2086
  hash=$(weights "$@" "$program" --epochs 2 $arguments </dev/null)
  echo "${hash:-no weights}  $arguments"
  : "${first:=$hash}"
  if [ -z "$hash" ] || [ "$hash" != "$first" ]; then verdict=1; fi
done <<END
--allreduce DynamicLeader+Reproducible --arrival balanced
--allreduce DynamicLeader+Reproducible --arrival one-late --stragglers 1
--allreduce DynamicLeader+Reproducible --arrival one-late --stragglers 2
--allreduce DynamicLeader+Reproducible --arrival uniform --spread 1ms --delay sleep
--allreduce DynamicLeader+Reproducible --arrival descending
--allreduce Reproducible --arrival descending
--allreduce Linear+MpiTransport+Reproducible --arrival uniform
END
if [ $verdict -ne 0 ]; then echo "FAILED: the weights differ"; fi
exit $verdict
