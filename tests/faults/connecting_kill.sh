#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# connecting_kill.sh RANKS WANTED "STEP…" "FORM…" LAUNCHER… PROGRAM: runs connecting_kill_test for each of
# these ways in which a rank may fail. WANTED: what the others throw if it is killed.
set -u

ranks=$1 if_killed=$2
read -r -a steps <<<"$3"
read -r -a forms <<<"$4"
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
for how in killed stopped; do
  wanted=$if_killed
  [[ $how == stopped ]] && wanted=deadline_exceeded
  for step in "${steps[@]}"; do
    for form in "${forms[@]}"; do
      rm -f "$results"/*
      # shellcheck disable=SC2016
      timeout --kill-after=5 30 "${launch[@]}" "$ranks" sh -c 'trap "" USR1; "$@"; exit 0' sh \
        "$program" "$results" "$how" "$step" "$form" >"$results/output" 2>&1
      for ((rank = 0; rank < ranks - 1; ++rank)); do
        kind=hung ms=0 text=""
        if [[ -f $results/$rank ]]; then IFS='|' read -r kind ms text <"$results/$rank"; fi
        echo "$how before $step, $form, rank $rank: $kind, $ms ms: $text"
        if [[ $kind != "$wanted" ]] || ((ms > longest_ms)); then
          echo "FAILED: $wanted was wanted"
          cat "$results/output"
          failed=1
        fi
      done
    done
  done
done
exit $failed
