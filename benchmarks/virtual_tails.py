#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tails in virtual time beside measured ones, of two ranks on two processors.

    benchmarks/virtual_tails.py --build build/release [--rounds 5] [--output results.json]

Each round measures the costs of the node (papcoll-bench --measure node-costs), then the algorithms
(papcoll-bench --arrival trace:FILE), then the costs again, and simulates with both. Where the two
costs differ by more than a fifth, or the benchmark met another neighbourhood of the two processors
than they did (a host may move the processors of a virtual machine meanwhile), the round is left
out. It prints the medians over the rounds, and exits with 1 if one of them is off by more than
--most.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ALGORITHMS = {"DynamicLeader": "DynamicLeader+ShmTransport",
              "Exchange": "Exchange+ShmTransport",
              "SplitTail": "ArrivalOrder+SplitTail+ShmTransport"}
SIZES = [64, 4096, 1 << 20]
# The late rank is as late as such a call takes, and by far.
LATE = {64: [0.2e-6, 10e-6], 4096: [1e-6, 10e-6], 1 << 20: [100e-6, 300e-6]}


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def measure_costs(bench, file):
    if file.exists():
        file.unlink()
    run([bench, "--measure", "node-costs", "-o", file])
    return json.loads(file.read_text())


def where(costs):
    return "near" if "near" in costs else "apart"


def alike(a, b):
    if where(a) != where(b):
        return False
    pair = [costs[where(costs)] for costs in (a, b)]
    values = [[p["fetch"], p["signal"], p["read"][3][1], p["write"][3][1]] for p in pair]
    return all(max(x, y) <= 1.2 * min(x, y) for x, y in zip(*values))


def measured(launch, bench, size, trace, iterations):
    text = run([*launch, bench, "allreduce", "--algorithm", *ALGORITHMS.values(), "--bytes", str(size),
                "--arrival", f"trace:{trace}", "--start", "clock", "--precision", "0",
                "--iterations", str(iterations), "--json"])
    return {r["algorithm"]: r for r in map(json.loads, text.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--most", default=0.25, type=float, help="part that a tail may be off by")
    parser.add_argument("--launcher", default="mpirun --bind-to core -n 2")
    parser.add_argument("--output", type=pathlib.Path, help="all rounds, as JSON")
    arguments = parser.parse_args()
    bench = arguments.build / "benchmarks" / "papcoll-bench"
    tool = arguments.build / "tools" / "papcoll"
    launch = arguments.launcher.split()
    rows = []
    left_out = 0
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        for _ in range(arguments.rounds):
            for size in SIZES:
                for late in [0, *LATE[size]]:
                    trace = directory / "trace"
                    trace.write_text(f"0 {late}\n")
                    before = measure_costs(bench, directory / "before.json")
                    real = measured(launch, bench, size, trace, 100 if size > 65536 else 500)
                    after = measure_costs(bench, directory / "after.json")
                    met = {r["neighbourhood"] for r in real.values()}
                    if not alike(before, after) or met != {where(before)}:
                        left_out += 1
                        continue
                    for name, full in ALGORITHMS.items():
                        virtual = []
                        for costs in ("before.json", "after.json"):
                            out = json.loads(run([tool, "simulate", name, "--collective", "allreduce",
                                                  "--ranks", "2", "--bytes", str(size), "--json",
                                                  "--arrival", f"trace:{trace}",
                                                  "--node-costs", directory / costs]))
                            # The benchmark reads the clock within what it times.
                            virtual.append(out["tail"] + out["clock"])
                        rows.append({"where": where(before), "algorithm": name, "bytes": size,
                                     "late": late, "virtual": statistics.mean(virtual),
                                     "measured": real[full]["tail_median_us"] * 1e-6,
                                     "load": os.getloadavg()[0]})
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
    groups = {}
    for row in rows:
        key = (row["where"], row["algorithm"], row["bytes"], row["late"])
        groups.setdefault(key, []).append(row)
    worst = 0
    print(f"{'where':<6} {'algorithm':<14} {'bytes':>8} {'late by':>10} {'virtual':>10} "
          f"{'measured':>10} {'ratio':>6} {'rounds':>7}")
    for (place, name, size, late), found in sorted(groups.items()):
        virtual = statistics.median(r["virtual"] for r in found)
        real = statistics.median(r["measured"] for r in found)
        ratio = statistics.median(r["virtual"] / r["measured"] for r in found)
        worst = max(worst, abs(ratio - 1))
        print(f"{place:<6} {name:<14} {size:>8} {late * 1e6:>7.1f} µs {virtual * 1e6:>7.3f} µs "
              f"{real * 1e6:>7.3f} µs {ratio:>6.2f} {len(found):>7}")
    loads = [r["load"] for r in rows] or [0]
    print(f"worst: {100 * worst:.0f} %; {left_out} rounds left out; load {min(loads):.1f} to "
          f"{max(loads):.1f}")
    return 1 if worst > arguments.most or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
