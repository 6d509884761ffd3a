#!/bin/sh
# shellcheck has nothing to say on our scripts.
set -u

command -v shellcheck >/dev/null || { echo "SKIPPED: no shellcheck"; exit 77; }
find scripts tests tools benchmarks -name '*.sh' -exec shellcheck --external-sources {} +
shellcheck --external-sources .ci/run
