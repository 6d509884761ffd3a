#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# same_output.sh BEFORE AFTER LAUNCHER…: the two programs print the same, and the README of the examples shows
# what differs in their sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
before=$1 after=$2
shift 2

expected=$("$@" "$before") said=$("$@" "$after")
if [[ -z $expected || $said != "$expected" ]]; then
  diff <(echo "$expected") <(echo "$said") || true
  echo "FAILED: the programs do not print the same"
  exit 1
fi
# shellcheck disable=SC2016
if ! diff <(sed -n '/^```diff$/,/^```$/{/^```/!p}' ../README.md) <(diff -u before.cpp after.cpp | tail -n +3); then
  echo "FAILED: examples/README.md does not show diff -u before.cpp after.cpp"
  exit 1
fi
