#!/usr/bin/env python3
"""Prints what scripts/demo.sh measured, and what follows from it:
demo_tables.py training FILE…
demo_tables.py sweep --output FILE FILE…     FILE: the rows of the table, for plot.py"""

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


def compared(name, gains):
    """What the gains in speed over mpi, a number a run, allow to say."""
    low, high = interval_of_median(gains)
    interval = f"95 % interval {percent(low)} to {percent(high)} %, {len(gains)} pairs of runs"
    if low <= 0 <= high:
        return f"{name}: no difference beyond the noise on this machine ({interval})."
    word = "faster" if low > 0 else "slower"
    change = percent(abs(statistics.median(gains))).lstrip("+")
    return f"{name}: steps {word} by {change} % than with the MPI library's ({interval})."


def name_of(row):
    return row["allreduce"] + (", registered" if row["registered"] else "")


def training(rows):
    """A line an algorithm. Runs of one number have the same ranks late, so that they are compared
    with each other."""
    names = sorted({name_of(row) for row in rows},
                   key=lambda name: (name != "mpi", name != "auto", len(name)))
    of = {name: {row["stragglers"]: row for row in rows if name_of(row) == name} for name in names}
    gains = {name: [of["mpi"][run]["seconds"] / of[name][run]["seconds"] - 1
                    for run in sorted(of[name])] for name in names}
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
    print("\n  * 95 % confidence interval of the median gain in speed, run by run.\n")
    print(compared("papcoll's allreduce (auto)", gains["auto"]))
    print(compared("The same, of a registered buffer", gains["auto, registered"]))


def sweep(rows, output):
    """A line a pattern and size: the tail of each algorithm, the middle one of the runs. Algorithms
    take turns within a run, so that one run's are compared with each other."""
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    arrivals = list(dict.fromkeys(row["arrival"] for row in rows))
    sizes = sorted({row["bytes"] for row in rows})
    runs_of = {}
    for row in sorted(rows, key=lambda row: row["tail_median_us"]):
        runs_of.setdefault((row["arrival"], row["bytes"], row["algorithm"]), []).append(row)
    middle = {key: runs[len(runs) // 2] for key, runs in runs_of.items()}
    with open(output, "w", encoding="utf-8") as file:
        for name in names:
            file.writelines(json.dumps(row) + "\n" for key, row in middle.items() if key[2] == name)

    compared_with = names[0]
    lines, said, noise = [], {}, 1.0
    for arrival in arrivals:
        for size in sizes:
            tails = {name: {row["seed"]: row["tail_median_us"]
                            for row in runs_of[arrival, size, name]} for name in names}
            line = [arrival, f"{size}"] + [
                f"{middle[arrival, size, name]['tail_median_us']:.2f}" for name in names]
            for name in names[1:]:
                ratios = [tails[compared_with][run] / tails[name][run] for run in tails[name]]
                low, high = interval_of_median(ratios)
                line.append(f"{low:.1f} to {high:.1f}")
                who = ("shorter" if low > 1 else "longer" if high < 1
                       else "no difference beyond the noise")
                said.setdefault((arrival, name), {}).setdefault(who, []).append(str(size))
                if low <= 1 <= high:
                    noise = max([noise] + [max(times.values()) / min(times.values())
                                           for times in (tails[name], tails[compared_with])])
            lines.append(line)
    table(["arrival", "bytes"] + names + [f"{compared_with} / {name}*" for name in names[1:]], lines)
    print(f"\n  * 95 % confidence interval of the median, run by run: above 1 {compared_with} waits "
          "longer.\n")
    for (arrival, name), at in said.items():
        print(f"{arrival}, {name} against {compared_with}: " + "; ".join(
            f"{who} at {', '.join(at[who])} bytes"
            for who in ("shorter", "longer", "no difference beyond the noise") if who in at) + ".")
    if noise > 1:
        print(f"\nWhere no difference is seen, runs of one algorithm differ by up to {noise:.1f} "
              "times.\nTo see smaller ones, run this while the machine does nothing else.")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["training", "sweep"])
    parser.add_argument("--output")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if arguments.what == "training":
        training(rows_of(arguments.files))
    else:
        sweep(rows_of(arguments.files), arguments.output)


if __name__ == "__main__":
    main()
