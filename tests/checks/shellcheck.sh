#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Our scripts are without a finding of shellcheck.
set -u

command -v shellcheck >/dev/null || { echo "SKIPPED: no shellcheck"; exit 77; }
find .ci/run scripts tests tools benchmarks \( -name '*.sh' -o -name 'papcoll-*.in' -o -path .ci/run \) -exec shellcheck {} +
