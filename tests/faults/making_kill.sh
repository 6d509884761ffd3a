#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# making_kill.sh RANKS KNOWN KILLS SECONDS LAUNCHER… PROGRAM: runs making_kill_test again and again,
# each time with another moment of death, until there were so many kills or so many seconds are
# over. Fails if a survivor hangs, throws what it should not, or takes longer than the deadline and
# some. Counted only is what runtime/setup/communicator_setup.hpp says may be: ranks that hang in MPI_Comm_split_type and in
# the MPI_Test that completes MPICH's MPI_Comm_idup, and those that MPI fails before they have met.
#
# 200 kills by hand: making_kill.sh 4 strangers 200 100000 mpirun --enable-recovery -n making_kill_test
set -u

ranks=$1 known=$2 kills=$3 seconds=$4
program=${*: -1}
launch=("${@:5:$#-5}")
longest_ms=4000  # of a deadline of 1000

if [[ ! -x $program ]]; then
  echo "FAILED: no $program"
  exit 1
fi

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
export UCX_TLS=posix,self OMPI_MCA_btl_vader_single_copy_mechanism=none  # see kill.sh

failed=0
complain() {
  echo "FAILED: $*" >&2
  failed=1
}

# Strangers die in their first making, which takes some milliseconds, the others in any of them.
most_us=10000
[[ $known == known ]] && most_us=100000

for ((kill = 0; kill < kills && SECONDS < seconds; ++kill)); do
  rm -f "$results"/*
  victim=$((RANDOM % ranks)) us=$(((RANDOM * 32768 + RANDOM) % most_us))
  # shellcheck disable=SC2016
  timeout --kill-after=5 40 "${launch[@]}" "$ranks" sh -c 'trap "" USR1; "$@"; exit 0' sh \
    "$program" "$results" "$known" "$victim" "$us" >"$results/output" 2>&1
  status=$?
  if ((status == 124 || status == 137)); then complain "kill $kill: the job did not end"; fi
  for ((rank = 0; rank < ranks; ++rank)); do
    if ((rank == victim)); then continue; fi
    IFS='|' read -r kind ms _ text <"$results/$rank" || kind="nothing written"
    if [[ $kind == hung && -n ${MPIR_CVAR_NUM_CLIQUES:-} ]] &&
      grep -q 'MPI_Comm_split_type' "$results/$rank"; then
      kind="hung in MPI_Comm_split_type"
    elif [[ $kind == hung && -n ${MPIR_CVAR_NUM_CLIQUES:-} ]] &&
      grep -q '^blocked inside MPI_Test' "$results/$rank"; then
      kind="hung in MPI_Test"
    elif [[ $kind == other && $text == "papcoll: MPI_"*" failed in meeting the other ranks: "*"error stack:" ]] &&
      ((ms <= longest_ms)); then  # MPICH's words
      kind="mpi_error before the ranks had met"
    elif [[ ! $kind =~ ^(fine|peer_lost|deadline_exceeded)$ ]] || ((ms > longest_ms)); then
      complain "kill $kill of rank $victim after $us us, rank $rank: $kind, $ms ms: $text"
      cat "$results/$rank" "$results/output" >&2
    fi
    printf '%s|%s|%s\n' "$kind" "$ms" "$(sed -n 's/.* in \(.*\)\( for a\|: make\).*/\1/p' <<<"$text")"
  done >>"$results.log"
done

echo "$kill kills of one of $ranks ranks ($known); survivors:"
awk -F'|' '{ n[$1]++; if ($2 > most[$1]) most[$1] = $2; if ($3 != "") step[$1 ", " $3]++ }
  END { for (k in n) print "  " n[k], k ", at most " most[k] " ms"; for (s in step) print "    " step[s], s }' \
  "$results.log" | sort -rn
rm -f "$results.log"
exit $failed
