#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests papcoll on the GPUs of this machine, and measures what one GPU can show.
set -euo pipefail

usage() {
  cat <<END
usage: scripts/test_gpu.sh [--jobs N] [--output DIRECTORY] [BUILD]

Builds the tests and benchmarks of GPUs in BUILD (default: build/gpu, which is configured if it is not
there: CMake's options can be given by configuring it before) and runs them on this machine's GPUs,
in about ten minutes: the tests, compute-sanitizer, then gpu_bench with 2, 4 and 8 processes. Leaves
a table of what is wanted and what was reached, as text and JSON, in DIRECTORY (default:
benchmarks/results/gpu). The logs are in BUILD/gpu.

Exit status: 0 if all was reached, 1 if not, 77 without a GPU: then everything is built, and nothing
is run. Safe to run again.
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc) build=$root/build/gpu output=$root/benchmarks/results/gpu
while (($# > 0)); do
  case "$1" in
    --jobs)
      jobs=${2:?--jobs needs a number}
      shift
      ;;
    --output)
      output=${2:?--output needs a directory}
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) build=$1 ;;
  esac
  shift
done

say() { printf '\n== %s  (%d s)\n' "$*" "$SECONDS"; }

say "build in $build"
if [[ ! -f $build/CMakeCache.txt ]]; then
  cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DPAPCOLL_WITH_CUDA=ON \
    -DPAPCOLL_TEST_ROOMS=gpu -DPAPCOLL_BUILD_EXAMPLES=OFF -DPAPCOLL_BUILD_TOOLS=OFF
fi
cmake --build "$build" --parallel "$jobs" --target gpu_bench gpu_reductions gpu_runtime \
  gpu.collectives gpu.collectives_on_host gpu_bench_on_host

bench=$build/benchmarks/gpu_bench
logs=$build/gpu
rm -rf "$logs"
mkdir -p "$logs/lost"

# Where there are more ranks than cores, where all is root, and under either library.
mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:FILEPATH=//p' "$build/CMakeCache.txt")
version=$("$mpiexec" --version 2>&1) || true
launch=("$mpiexec")
if [[ $version =~ Open\ MPI|OpenRTE|PRRTE ]]; then
  mpi=$(head -n 1 <<<"$version")
  launch+=(--allow-run-as-root --oversubscribe --bind-to none)
  recover=(--enable-recovery)
else
  recover=(-disable-auto-cleanup)
  mpi="MPICH $(sed -n 's/^ *Version: *//p' <<<"$version" | head -n 1)"
fi
# UCX ends survivors of a death, and CMA has nothing to do here: see tests/faults/kill.sh.
export UCX_TLS=posix,self OMPI_MCA_btl_vader_single_copy_mechanism=none

status=0
"${launch[@]}" -n 1 "$bench" memory >"$logs/memory.jsonl" 2>"$logs/memory.log" || status=$?
if grep -q '^SKIPPED' "$logs/memory.jsonl"; then
  sed -n 's/^SKIPPED: /SKIPPED: all is built, and nothing was run: /p' "$logs/memory.jsonl"
  exit 77
fi
if ((status != 0)); then
  echo "scripts/test_gpu.sh: gpu_bench fails:" >&2
  cat "$logs/memory.log" >&2
  exit 1
fi

gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1) ||
  gpu=""
commit=$(git -C "$root" describe --always --dirty 2>/dev/null) || commit="unknown"
printf '{"what": "machine", "gpu": "%s", "mpi": "%s", "commit": "%s", "date": "%s"}\n' \
  "${gpu:-an unknown GPU}" "$mpi" "$commit" "$(date -u +%F)" >"$logs/steps.jsonl"

# step NAME STATUS [REASON]
step() {
  printf '{"what": "step", "name": "%s", "status": "%s", "reason": "%s"}\n' "$1" "$2" "${3:-}" \
    >>"$logs/steps.jsonl"
  echo "$1: $2 ${3:-}"
}

# attempt NAME SECONDS FILE COMMAND…: what it prints goes to FILE.jsonl and FILE.log.
attempt() {
  local name=$1 limit=$2 file=$3 status=0
  shift 3
  say "$name"
  if ((SECONDS + 10 > end)); then
    step "$name" skipped "the ten minutes are over"
    return
  fi
  if ((SECONDS + limit > end)); then limit=$((end - SECONDS)); fi
  timeout --kill-after=10 "$limit" "$@" >"$logs/$file.jsonl" 2>"$logs/$file.log" || status=$?
  cat "$logs/$file.jsonl"
  case $status in
    0) step "$name" passed ;;
    124 | 137) step "$name" "did not end in $limit s" ;;
    *)
      tail -n 5 "$logs/$file.log"
      step "$name" "exit status $status"
      ;;
  esac
}

# All together is to take ten minutes, without the build.
end=$((SECONDS + 590))

say "ctest -L gpu"
if timeout 240 ctest --test-dir "$build" -L gpu --output-on-failure --timeout 120 2>&1 |
  tee "$logs/ctest.log"; then
  step "ctest -L gpu" passed
else
  step "ctest -L gpu" failed
fi

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
  sanitizer=""
if [[ -n $sanitizer ]]; then
  attempt "compute-sanitizer gpu_reductions" 120 sanitizer "$sanitizer" --error-exitcode 1 \
    "$build/tests/gpu/gpu_reductions"
else
  step "compute-sanitizer gpu_reductions" skipped "there is no compute-sanitizer"
fi

for ranks in 2 4 8; do
  attempt "results, $ranks processes" 90 "results.$ranks" "${launch[@]}" -n "$ranks" "$bench" results
done
for ranks in 2 4 8; do
  # 8 processes with 1 GB each and what papcoll copies to need less than half of 80 GB.
  attempt "allreduces, $ranks processes" 90 "allreduces.$ranks" \
    "${launch[@]}" -n "$ranks" "$bench" allreduces 1024
done
for ranks in 2 4 8; do
  attempt "against MPI, $ranks processes" 60 "against_mpi.$ranks" \
    "${launch[@]}" -n "$ranks" "$bench" against_mpi
done
attempt "through the host" 60 through_host "${launch[@]}" -n 4 "$bench" through_host
attempt "two paths" 60 paths "${launch[@]}" -n 1 "$bench" paths
attempt "cycles" 120 cycles "${launch[@]}" -n 4 "$bench" cycles 10000

# Of 8 ranks 7 die in each job, which the launcher is to let the others survive. The shell between hides their deaths from the launcher, and
# MPICH's signal of them from the others.
say "ranks that die"
for ((job = 1; job <= 15 && SECONDS + 10 < end; ++job)); do
  # shellcheck disable=SC2016
  timeout --kill-after=10 90 "${launch[@]}" "${recover[@]}" -n 8 sh -c 'trap "" USR1; "$@"; exit 0' sh \
    "$bench" lost "$logs/lost" "$job" >"$logs/lost/$job.log" 2>&1 || true
  echo "job $job of 15: $(cat "$logs/lost/$job".*.jsonl 2>/dev/null | grep -c peer_lost) of 28 told"
done

say "memory"
"${launch[@]}" -n 1 "$bench" memory >"$logs/memory_after.jsonl" 2>>"$logs/memory.log" || true
# The launcher's output of the first and of the last are in this order.
files=("$logs/memory.jsonl" "$logs/memory_after.jsonl")
for file in "$logs"/*.jsonl "$logs"/lost/*.jsonl; do
  if [[ -f $file && $file != "$logs"/memory* ]]; then files+=("$file"); fi
done

say "table"
python3 "$root/benchmarks/gpu/report.py" "$output" "${files[@]}"
