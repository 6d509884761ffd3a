#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds and tests papcoll under both MPI libraries and the sanitizers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=(openmpi mpich smpi asan-ubsan tsan)
rare=(aarch64)

usage() {
  cat <<END
usage: scripts/test.sh [--quick | --full] [--no-install] [--jobs N] [configuration…]

Builds and tests each configuration (default: all) in build/NAME:
  openmpi      clang++, Open MPI        every test and check; of the unit tests some rooms
  mpich        g++, MPICH               the tests that run under mpirun, the faults, the examples
  smpi         clang++, SMPI            schedules on up to 256 simulated ranks, the rank tests on 8
  asan-ubsan   clang++, ASan and UBSan  the unit tests (threads as ranks)
  tsan         g++, TSan                the unit tests of what threads share
  aarch64      g++ for AArch64, QEMU    the unit tests of the control block, the waiter and plans (--full)

  --quick       openmpi only, without the slow tests: unit tests, and 2 and 4 ranks
  --full        also aarch64, all numbers of ranks under each MPI, under papcoll-run 10^5 calls of
                random types and 500 killed jobs, and readers of files fuzzed: an hour and a half more
  --no-install  do not look for missing packages
  --jobs N      build N files at a time (default: number of processors)

Safe to run again: what is up to date is not built anew. Ends with where the time went and one line a
configuration; the exit status is 0 only if everything passed. Logs: build/NAME/build.log and
build/NAME/test.log.
END
}

quick=false full=OFF install=true jobs=$(nproc) chosen=()
while (($# > 0)); do
  case "$1" in
    --quick) quick=true ;;
    --full) full=ON ;;
    --no-install) install=false ;;
    --jobs)
      jobs=${2:?--jobs needs a number}
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
    *)
      if [[ " ${all[*]} ${rare[*]} " != *" $1 "* ]]; then
        echo "scripts/test.sh: no configuration $1; there are: ${all[*]} ${rare[*]}" >&2
        exit 2
      fi
      chosen+=("$1")
      ;;
  esac
  shift
done
if ((${#chosen[@]} == 0)); then
  if $quick; then chosen=(openmpi); else chosen=("${all[@]}"); fi
  if [[ $full == ON ]]; then chosen+=("${rare[@]}"); fi
fi

if $install; then
  needs=tests
  if [[ " ${chosen[*]} " == *" aarch64 "* ]]; then needs=full; fi
  scripts/install_dependencies.sh --for $needs
fi
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
fi

targets=(all)
# Tests count their processors in halves, and one more is for a job that mostly waits: see
# tests/registration.cmake.
ctest_arguments=(--parallel $((2 * $(nproc) + 1)) --no-tests=error)
if $quick; then
  targets=(unit_tests rank_tests)
  ctest_arguments+=(-R '^(unit_tests\.|direction|rank_tests\.[24]$)')
fi

say() { printf '\n== %s\n' "$*"; }

# Without address randomisation, which on some kernels leaves no room for TSan's shadow memory.
run_plainly() {
  if [[ "$1" == tsan ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    shift
    setarch "$(uname -m)" -R "$@"
  else
    shift
    "$@"
  fi
}

# seconds_used FILE: the processor seconds of the children of the shell whose `times` are in it.
seconds_used() {
  awk 'NR == 2 { gsub(/[ms]/, " "); print int(60 * $1 + $2 + 60 * $3 + $4) }' "$1"
}

# prepare NAME [COMMAND…]: configures and builds, by COMMAND cmake …. Leaves in build/NAME the files `prepared`
# (the seconds) and `times`; without `prepared` it failed to do what failed_to says.
prepare() {
  local name=$1 logs=build/$1 start=$SECONDS
  shift
  # asan-ubsan runs all unit tests; those that depend on time or on the compiler run here, too.
  local options=("-DPAPCOLL_FULL_SIZES=$full") some="base/;node/doorbells;node/peer_watch;node/waiter"
  if [[ $name == openmpi ]]; then
    if $quick; then some=""; fi
    options+=("-DPAPCOLL_UNIT_TESTS=$some")
    if [[ $full == ON ]]; then options+=("-DPAPCOLL_PRELOADED_FLAGS=-O2"); fi
  fi
  if [[ $name == mpich ]]; then options+=("-DPAPCOLL_BUILD_TOOLS=$full" "-DPAPCOLL_BUILD_BENCHMARKS=$full"); fi
  say "$name: configure"
  echo configure >"$logs/failed_to"
  "$@" cmake --preset "$name" "${options[@]}" || return
  say "$name: build"
  echo build >"$logs/failed_to"
  if [[ -e $logs/.ninja_log ]]; then wc -l <"$logs/.ninja_log" >"$logs/built_before"; fi
  "$@" cmake --build --preset "$name" --parallel "$jobs" --target "${targets[@]}" || return
  times >"$logs/times"
  echo $((SECONDS - start)) >"$logs/prepared"
}

# A configuration is built while the one before it is tested, with the processor time that its tests leave.
preparing=""
start_preparing() {  # NAME [COMMAND…], as prepare
  local logs=build/$1
  mkdir -p "$logs"
  rm -f "$logs/prepared" "$logs/tests.xml"
  echo 0 >"$logs/built_before"
  : >"$logs/build.log"
  set -m  # a process group of its own, to be ended with this script
  prepare "$@" >>"$logs/build.log" 2>&1 </dev/null &
  preparing=$!
  set +m
}
trap '[[ -z $preparing ]] || kill -- "-$preparing" 2>/dev/null || true' EXIT

# Tests a configuration that is being prepared, and meanwhile prepares the next, if there is one. Leaves the
# verdict in the variable of that name.
verdict=""
test_configuration() {
  local name=$1 next=${2:-} logs=build/$1
  tail -n +1 -s 0.2 -f --pid="$preparing" "$logs/build.log"
  wait "$preparing" || true
  preparing=""
  if [[ -n $next ]]; then start_preparing "$next" nice -n 19; fi
  if [[ ! -e $logs/prepared ]]; then
    verdict="FAILED to $(cat "$logs/failed_to")"
    return 1
  fi
  say "$name: test"
  local status=0 start=$SECONDS
  (
    status=0
    run_plainly "$name" ctest --preset "$name" "${ctest_arguments[@]}" \
      --output-junit "$PWD/$logs/tests.xml" 2>&1 | tee "$logs/test.log" || status=1
    times >"$logs/times_of_tests"
    exit $status
  ) || status=1
  verdict=$(grep -E 'tests passed|No tests were found' "$logs/test.log" | tail -n 1)
  verdict="${verdict:-FAILED to run ctest} (build $(cat "$logs/prepared") s, tests $((SECONDS - start)) s; \
processors $(seconds_used "$logs/times") s and $(seconds_used "$logs/times_of_tests") s)"
  times_of+=("$name:" "$(scripts/test_report.py times "$logs" "$(cat "$logs/built_before")" "$logs/tests.xml")")
  return $status
}

failed=0 summary=() times_of=() failures=()
start_preparing "${chosen[0]}"
for i in "${!chosen[@]}"; do
  name=${chosen[i]}
  if ! test_configuration "$name" "${chosen[i + 1]:-}"; then
    failed=1
    failures+=("$name:")
    if [[ -e build/$name/tests.xml ]]; then
      failures+=("$(scripts/test_report.py failures "build/$name/tests.xml")")
    else
      failures+=("$(grep -s -m 20 -E 'error:|FAILED:' "build/$name/build.log" || true)")
    fi
  fi
  summary+=("$(printf '%-11s %s' "$name" "$verdict")")
done

say "where the time went, in seconds"
printf '%s\n' "${times_of[@]}"
say "summary"
printf '%s\n' "${summary[@]}"
if ((failed)); then
  say "what failed"
  printf '%s\n' "${failures[@]}"
  echo "FAILED"
else
  echo "PASSED"
fi
exit $failed
