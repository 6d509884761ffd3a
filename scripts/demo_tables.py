#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what scripts/demo.sh measured, and what follows from it:
demo_tables.py --mpi NAME --where WORDS FILE…"""

import argparse
import json
import math
import statistics


def rows_of(names):
    rows = []
    for name in names:
        with open(name, encoding="utf-8") as file:
            rows += [json.loads(line) for line in file if line.strip()]
    return rows


def table(head, lines):
    """First column to the left, numbers to the right."""
    widths = [max(len(line[i]) for line in [head] + lines) for i in range(len(head))]
    for line in [head] + lines:
        print("  " + "  ".join(cell.rjust(w) if i else cell.ljust(w)
                               for i, (cell, w) in enumerate(zip(line, widths))).rstrip())


def interval_of_median(values):
    """The narrowest pair of values, equally far from the ends, between which the median of what they
    were drawn from lies with at least 95 % confidence; assumes nothing of its distribution (the
    sign test). The whole range if there are fewer than six."""
    values = sorted(values)
    n = len(values)
    outside, cut = 0.0, 0
    while cut < n // 2:
        outside += 2 * math.comb(n, cut) / 2**n
        if outside > 0.05:
            break
        cut += 1
    cut = max(cut - 1, 0)
    return values[cut], values[n - 1 - cut]


def percent(part):
    return f"{100 * part:+.1f}".replace("-", "−")


def compared(what, gains, mpi, where):
    """What the gains in speed over MPI's, a number a run, allow to say."""
    low, high = interval_of_median(gains)
    interval = f"95 % interval {percent(low)} to {percent(high)} %, {len(gains)} pairs of runs; {where}"
    if low <= 0 <= high:
        return f"{what}: no difference from {mpi}'s beyond the noise on this machine ({interval})."
    word = "faster" if low > 0 else "slower"
    change = percent(abs(statistics.median(gains))).lstrip("+")
    return f"{what}, training steps are {change} % {word} than with {mpi}'s ({interval})."


def name_of(row):
    return row["allreduce"] + (", registered" if row["registered"] else "")


def show(rows, mpi, where):
    """What was gained, and a line an algorithm. Runs of one number have the same ranks late, so that they are compared
    with each other."""
    names = sorted({name_of(row) for row in rows},
                   key=lambda name: (name != "mpi", name != "auto", len(name)))
    of = {name: {row["stragglers"]: row for row in rows if name_of(row) == name} for name in names}
    gains = {name: [of["mpi"][run]["seconds"] / of[name][run]["seconds"] - 1
                    for run in sorted(of[name])] for name in names}
    print(compared("With papcoll's allreduce", gains["auto"], mpi, where))
    print(compared("With papcoll's allreduce of a registered buffer", gains["auto, registered"], mpi,
                   where), end="\n\n")
    lines = []
    for name in names:
        runs = list(of[name].values())
        seconds = [row["seconds"] for row in runs]
        median = {key: statistics.median(row[key] for row in runs)
                  for key in ("mean_us", "tail_median_us", "loss", "accuracy")}
        low, high = interval_of_median(gains[name])
        lines.append([name, f"{statistics.median(seconds):.2f} s",
                      f"{min(seconds):.2f}–{max(seconds):.2f}",
                      "" if name == "mpi" else f"{percent(low)} to {percent(high)} %",
                      f"{median['mean_us']:.0f} µs", f"{median['tail_median_us']:.0f} µs",
                      f"{median['loss']:.4f}", f"{100 * median['accuracy']:.1f} %",
                      "yes" if all(row["ranks_agree"] for row in runs) else "NO",
                      "yes" if len({row["weights"] for row in runs}) == 1 else "no"])
    table(["allreduce", "training", "range", "faster than mpi*", "in allreduce", "tail", "loss",
           "accuracy", "ranks agree", "runs agree"], lines)
    print("\n  * 95 % confidence interval of the median gain in speed, run by run.")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--where", required=True)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    show(rows_of(arguments.files), arguments.mpi, arguments.where)


if __name__ == "__main__":
    main()
