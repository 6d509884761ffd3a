#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 02_choosing_policies.sh PROGRAM LAUNCHER…: names that do not fit end it with a message, not a crash.
set -uo pipefail
program=$1
shift

fail() { printf '%s\n%s\n' "$1" "$said" >&2; exit 1; }

said=$("$@" "$program" auto Bruck 2>&1)
status=$?
((status == 1)) || fail "a name that does not serve allreduce: exit status $status, not 1"
[[ $said == *"papcoll: "*Bruck* ]] || fail "no message about Bruck"
[[ $said == *"auto "*"right, chosen for each call"* ]] || fail "auto does not say what it stands for"
[[ $said == *"a slip: "*Rabenseifner* ]] || fail "the program did not go on"
