#!/usr/bin/env python3
"""Is a call without policies as quick as the best algorithm for it? Measures `auto` beside all
others over sizes and arrival patterns, and shows for each point who is best and what auto loses."""

import argparse
import json
import math
import pathlib
import shlex
import subprocess
import sys

import plot

PATTERNS = "balanced,one-late,uniform,two-groups,normal"
SIZES = "8,64,512,4k,16k,64k,256k,1M,4M,16M"
NODE = ("DynamicLeader,StaticLeader,Exchange,MultiLeader,PeerSlices,SplitTail,CombiningTree,"
        "ArrivalOrder+Chain,ArrivalOrder+Accumulator,RecursiveDoubling,Rabenseifner,Ring")
METRICS = {"median": "median_us", "mean": "mean_us", "tail": "tail_median_us"}


class BadInput(Exception):
    """Of the command line or the files: exit status 2."""


def parser():
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="DIR gets the rows of papcoll-bench, a file a pattern, and grid.md, which is also "
               "printed.\nExit status: 0, whatever was found; 2 if something cannot be measured.")
    made.add_argument("--bench", default="papcoll-bench", metavar="FILE")
    made.add_argument("--mpirun", required=True, metavar="COMMAND",
                      help="with its flags: 'mpirun --bind-to core -n 2'")
    made.add_argument("--output", required=True, metavar="DIR", help="made if it is not there")
    made.add_argument("--collective", default="allreduce")
    made.add_argument("--algorithms", default=NODE, metavar="NAME,…",
                      help="the others (default: %(default)s)")
    made.add_argument("--patterns", default=PATTERNS, metavar="NAME,…", help="(default: %(default)s)")
    made.add_argument("--sizes", default=SIZES, help="(default: %(default)s)")
    made.add_argument("--mif", default="20", metavar="X",
                      help="of the patterns that are not balanced (default: %(default)s)")
    made.add_argument("--time-limit", default="300ms", metavar="DURATION",
                      help="for each size and candidate (default: %(default)s)")
    made.add_argument("--bench-options", default="", metavar="OPTIONS",
                      help="more options for papcoll-bench, such as '--delay sleep'")
    made.add_argument("--metric", choices=METRICS, default="median",
                      help="what is compared: the time in the call, averaged over the ranks "
                           "(median or mean of the iterations), or the time from the last arrival "
                           "to the last exit (default: %(default)s)")
    made.add_argument("--resume", action="store_true", help="do not repeat what is in DIR")
    return made


def measure(arguments, pattern, directory):
    """The rows of one pattern, in one run, so that all candidates meet the same machine."""
    result = directory / f"{pattern}.json"
    if not (arguments.resume and result.exists()):
        unfinished = result.with_suffix(".unfinished")
        names = ["auto", *arguments.algorithms.split(",")]
        command = [*shlex.split(arguments.mpirun), arguments.bench, arguments.collective,
                   "--algorithm", *names, "--sizes", arguments.sizes, "--arrival", pattern,
                   *(["--mif", arguments.mif] if pattern != "balanced" else []),
                   "--time-limit", arguments.time_limit, *shlex.split(arguments.bench_options),
                   "--format", "json", "--output", str(unfinished)]
        try:
            status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
        except OSError as problem:
            raise BadInput(f"--mpirun: {problem}") from problem
        if status != 0:
            raise BadInput(f"exit status {status} of\n  {shlex.join(command)}")
        unfinished.replace(result)
    return [json.loads(line) for line in result.read_text(encoding="utf-8").splitlines()]


def compare(rows, key):
    """For each size: bytes, auto's row, the best other's, the time of one over that of the other."""
    for size in sorted({row["bytes"] for row in rows}):
        here = [row for row in rows if row["bytes"] == size]
        chosen = next(row for row in here if row["algorithm"] == "auto")
        best = min((row for row in here if row["algorithm"] not in ("auto", "mpi")),
                   key=lambda row: row[key])
        yield size, chosen, best, chosen[key] / best[key]


def table(rows_of, metric):
    key = METRICS[metric]
    lines = [f"µs, {metric}; {next(iter(rows_of.values()))[0]['mpi_library']}", ""]
    counts = {"balanced": [], "imbalanced": []}
    for pattern, rows in rows_of.items():
        lines += [f"## {pattern}", "", "| bytes | auto ran | µs | best | µs | auto / best |",
                  "| ---: | --- | ---: | --- | ---: | ---: |"]
        for size, chosen, best, ratio in compare(rows, key):
            lines.append(f"| {plot.size_label(size)} | {chosen['resolved']} | {chosen[key]:.4g} | "
                         f"{best['algorithm']} | {best[key]:.4g} | {ratio:.2f} |")
            counts["balanced" if pattern == "balanced" else "imbalanced"].append(ratio)
        lines.append("")
    for kind, limit in (("balanced", 1.05), ("imbalanced", 1.1)):
        ratios = counts[kind]
        if ratios:
            lines.append(f"{kind}: {sum(ratio <= limit for ratio in ratios)} of {len(ratios)} "
                         f"points within {limit:g}; the worst {max(ratios):.2f}, geometric mean "
                         f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
    return "\n".join(lines) + "\n"


def main():
    arguments = parser().parse_args()
    directory = pathlib.Path(arguments.output)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        rows_of = {}
        for pattern in arguments.patterns.split(","):
            print(f"  {pattern}", file=sys.stderr, flush=True)
            rows_of[pattern] = measure(arguments, pattern, directory)
        text = table(rows_of, arguments.metric)
        (directory / "grid.md").write_text(text, encoding="utf-8")
        print(text, end="")
        return 0
    except (BadInput, OSError, json.JSONDecodeError) as problem:
        print(f"auto_grid: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
