#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""overhead.py PROGRAM PAPCOLL-PROFILE LAUNCHER…: what recording costs a call.

Runs the program allreduce_loop with and without papcoll-profile, alternately, and prints the medians
of both and of the pairs' differences, each with the interval that holds the median of the population
with 95 % probability. For example

    benchmarks/profile/overhead.py build/openmpi/benchmarks/allreduce_loop \\
        build/openmpi/tools/interpose/papcoll-profile mpirun.openmpi --bind-to core -n 2
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile


def interval(values):
    """The median and its 95 % interval, by ranks of the sorted values."""
    ordered = sorted(values)
    n = len(ordered)
    # Of the binomial distribution: about n/2 ± 0.98 √n.
    reach = 0.98 * n**0.5
    low = ordered[max(0, int(n / 2 - reach))]
    high = ordered[min(n - 1, int(n / 2 + reach))]
    return f"{statistics.median(ordered):7.1f} ns ({low:.1f} to {high:.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000000)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("program")
    parser.add_argument("profile")
    parser.add_argument("launcher", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    plain = [*options.launcher, options.program, str(options.calls)]
    times = {"plain": [], "recorded": []}
    with tempfile.TemporaryDirectory() as directory:
        recorded = [options.profile, "--no-report", "--output", directory, *plain]
        for i in range(options.pairs):
            both = [("plain", plain), ("recorded", recorded)]
            for name, command in both if i % 2 == 0 else reversed(both):
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                times[name].append(json.loads(done.stdout))
    print(f"{options.pairs} pairs of runs of {options.calls} calls of 8 bytes; load "
          f"{os.getloadavg()[0]:.2f} on {os.cpu_count()} processors")
    for where in ("self", "world"):
        a = [t[where] for t in times["plain"]]
        b = [t[where] for t in times["recorded"]]
        print(f"{where:5}  plain {interval(a)}  recorded {interval(b)}  "
              f"more {interval([y - x for x, y in zip(a, b)])}")


if __name__ == "__main__":
    main()
