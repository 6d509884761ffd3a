#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill.sh RANKS EXPECT ALGORITHM COLLECTIVE BYTES "PHASE…" LAUNCHER…: runs kill_test and checks what its
# ranks wrote, and that nothing of papcoll is left in /dev/shm. See kill_test.cpp.
set -u

ranks=$1 expect=$2 algorithm=$3 collective=$4 bytes=$5
read -r -a phases <<<"$6"
program=${*: -1}
launch=("${@:7:$#-7}")

if [[ ! -x $program ]]; then
  echo "FAILED: no $program"
  exit 1
fi

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# UCX, under MPICH, ends a survivor whose cross-memory attach meets a dead process, and one whose
# TCP connection to it breaks at the wrong moment.
export UCX_TLS=posix,self OMPI_MCA_btl_vader_single_copy_mechanism=none

# MPICH's launcher tells the survivors of a first death by SIGUSR1, which MPICH does not handle, and
# after a second one kills them. So there is a shell between, that ignores the one and hides the
# other. The launcher's own status says only that ranks died.
# shellcheck disable=SC2016
timeout --kill-after=10 60 "${launch[@]}" "$ranks" sh -c 'trap "" USR1; "$@"; exit 0' sh "$program" \
  "$results" "$expect" "$algorithm" "$collective" "$bytes" "${phases[@]}" >"$results/output" 2>&1

if grep -hs '^SKIPPED' "$results"/[0-9]*; then exit 77; fi

failed=0
complain() {
  echo "FAILED: $*"
  failed=1
}

for ((rank = 0; rank < ranks; ++rank)); do
  wanted=""
  for ((i = 0; i < ${#phases[@]} && rank < ranks - 1 - i; ++i)); do wanted+="${phases[i]%%=*}: ok"$'\n'; done
  if ((rank < ranks - ${#phases[@]})); then wanted+="end"$'\n'; fi
  written=$(grep -v '^pid ' "$results/$rank" 2>/dev/null)
  if [[ "$written" != "${wanted%$'\n'}" ]]; then complain "rank $rank: ${written:-nothing}"; fi
  pid=$(sed -n 's/^pid //p' "$results/$rank" 2>/dev/null)
  if compgen -G "/dev/shm/papcoll-*-$pid-*" >/dev/null; then complain "rank $rank left memory behind"; fi
done

if ((failed)); then
  echo "the job wrote:"
  cat "$results/output"
fi
exit $failed
