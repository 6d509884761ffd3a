#!/usr/bin/env python3
"""Prints what scripts/demo.sh measured: demo_tables.py training|sweep FILE…"""

import json
import statistics
import sys


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


def training(rows):
    """A line an algorithm; times are medians over the runs, which differ in who was late when."""
    names = list(dict.fromkeys(row["allreduce"] for row in rows))
    median = {name: lambda key, name=name: statistics.median(
        row[key] for row in rows if row["allreduce"] == name) for name in names}
    first = names[0]
    lines = []
    for name in names:
        runs = [row for row in rows if row["allreduce"] == name]
        value = median[name]
        weights = {row["weights"] for row in runs}
        lines.append([name, f"{value('seconds'):.2f} s",
                      f"{median[first]('seconds') / value('seconds'):.2f}×",
                      f"{value('mean_us'):.0f} µs", f"{value('tail_median_us'):.0f} µs",
                      f"{value('loss'):.4f}", f"{100 * value('accuracy'):.1f} %",
                      "yes" if all(row["ranks_agree"] for row in runs) else "NO",
                      "yes" if len(weights) == 1 else "no"])
    table(["allreduce", "training", "faster", "in allreduce", "tail", "loss", "accuracy",
           "ranks agree", "runs agree"], lines)


def sweep(rows):
    """A line a pattern and size: the median tail of each algorithm."""
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    lines = []
    for arrival in dict.fromkeys(row["arrival"] for row in rows):
        for size in sorted({row["bytes"] for row in rows}):
            tails = {row["algorithm"]: row["tail_median_us"] for row in rows
                     if row["arrival"] == arrival and row["bytes"] == size}
            lines.append([arrival, f"{size}"] + [f"{tails[name]:.2f}" for name in names])
    table(["arrival", "bytes"] + names, lines)


if __name__ == "__main__":
    {"training": training, "sweep": sweep}[sys.argv[1]](rows_of(sys.argv[2:]))
