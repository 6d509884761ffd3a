#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is a call without policies as quick as the best algorithm for it? Measures `auto` beside all
others over sizes and arrival patterns, and shows for each point who is best and what auto loses."""

import argparse
import itertools
import json
import math
import pathlib
import shlex
import subprocess
import sys

import plot

PATTERNS = "balanced,one-late,uniform,two-groups,normal"
SIZES = "8,64,512,4k,16k,64k,256k,1M,4M,16M"
NODE = {  # what may be the best on one node
    "allreduce": "DynamicLeader,StaticLeader,Exchange,MultiLeader,PeerSlices,SplitTail,CombiningTree,"
                 "ArrivalOrder+Chain,ArrivalOrder+Accumulator,RecursiveDoubling,Rabenseifner,Ring",
    "reduce": "DynamicLeader,StaticLeader,Exchange,PeerSlices,SplitTail,CombiningTree,"
              "ArrivalOrder+Chain,ArrivalOrder+Accumulator,Linear,Binomial,PipelinedChain,"
              "ReduceScatterGather",
    "bcast": "DynamicLeader,StaticLeader,Exchange,PeerSlices,Linear,Binomial,PipelinedChain,"
             "PipelinedBinaryTree,ScatterAllgather",
    "allgather": "DynamicLeader,StaticLeader,Exchange,PeerSlices,BlockCopies,Linear,"
                 "RecursiveDoubling,Ring,Bruck,GatherThenBcast",
    "barrier": "DynamicLeader,StaticLeader,Exchange,RecursiveDoubling,Dissemination",
    "reduce_scatter": "Exchange,PeerSlices,Linear,Ring,RecursiveHalving,Pairwise",
    "gather": "Exchange,BlockCopies,Linear,Binomial",
    "scatter": "Exchange,BlockCopies,Linear,Binomial",
    "alltoall": "BlockCopies,Linear,Pairwise,SpreadOut,Bruck",
    "scan": "PrefixRuns,Linear,Chain,PipelinedChain,Binomial,RecursiveDoubling",
    "exscan": "PrefixRuns,Linear,Chain,PipelinedChain,Binomial,RecursiveDoubling",
}
METRICS = {"median": ("median_us", "median_ci95_us"), "mean": ("mean_us", "ci95_us"),
           "tail": ("tail_median_us", "tail_median_ci95_us")}


class BadInput(Exception):
    """Of the command line or the files: exit status 2."""


def parser():
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="DIR gets the rows of papcoll-bench, a file a collective and pattern, and grid.md, "
               "which is also printed.\nExit status: 0, whatever was found; 2 if something cannot be measured.")
    made.add_argument("--bench", default="papcoll-bench", metavar="FILE")
    made.add_argument("--launcher", required=True, metavar="COMMAND",
                      help="with its flags: 'mpirun --bind-to core -n 2'")
    made.add_argument("--output", required=True, metavar="DIR", help="made if it is not there")
    made.add_argument("--collectives", default="allreduce", metavar="NAME,…",
                      help="or all (default: %(default)s)")
    made.add_argument("--algorithms", metavar="NAME,…",
                      help="the others (default: those of each collective that may be the best on a "
                           "node)")
    made.add_argument("--patterns", default=PATTERNS, metavar="NAME,…", help="(default: %(default)s)")
    made.add_argument("--bytes", default=SIZES, help="(default: %(default)s)")
    made.add_argument("--mif", default="20", metavar="X",
                      help="of the patterns that are not balanced (default: %(default)s)")
    made.add_argument("--time-limit", default="300ms", metavar="DURATION",
                      help="for each size and candidate (default: %(default)s)")
    made.add_argument("--bench-options", default="", metavar="OPTIONS",
                      help="more options for papcoll-bench, such as '--delay sleep'")
    made.add_argument("--metric", choices=METRICS,
                      help="what is compared: the time in the call, averaged over the ranks "
                           "(median or mean of the iterations), or the time from the last arrival "
                           "to the last exit (default: median where arrivals are balanced, else "
                           "tail)")
    made.add_argument("--resume", action="store_true", help="do not repeat what is in DIR")
    return made


def measure(arguments, collective, pattern, directory):
    """The rows of one pattern, in one run, so that all candidates meet the same machine."""
    result = directory / f"{collective}-{pattern}.json"
    if not (arguments.resume and result.exists()):
        unfinished = result.with_suffix(".unfinished")
        names = ["auto", *(arguments.algorithms or NODE[collective]).split(",")]
        sizes = [] if collective == "barrier" else ["--bytes", arguments.bytes]
        command = [*shlex.split(arguments.launcher), arguments.bench, collective,
                   "--algorithm", *names, *sizes, "--arrival", pattern,
                   *(["--mif", arguments.mif] if pattern != "balanced" else []),
                   "--time-limit", arguments.time_limit, *shlex.split(arguments.bench_options),
                   f"--json={unfinished}"]
        try:
            status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
        except OSError as problem:
            raise BadInput(f"--launcher: {problem}") from problem
        if status != 0:
            raise BadInput(f"exit status {status} of\n  {shlex.join(command)}")
        unfinished.replace(result)
    return [json.loads(line) for line in result.read_text(encoding="utf-8").splitlines()]


def compare(rows, metric):
    """For each size: bytes, auto's row, the best other's, the time of one over that of the other, and
    half the width of its 95 % confidence interval."""
    key, interval = METRICS[metric]
    for size in sorted({row["bytes"] for row in rows}):
        here = [row for row in rows if row["bytes"] == size]
        chosen = next(row for row in here if row["algorithm"] == "auto")
        best = min((row for row in here if row["algorithm"] not in ("auto", "mpi")),
                   key=lambda row: row[key])
        ratio = chosen[key] / best[key]
        yield size, chosen, best, ratio, ratio * math.hypot((chosen[interval] or 0) / chosen[key],
                                                            (best[interval] or 0) / best[key])


def table(rows_of, metric):
    lines = [f"µs; {next(iter(rows_of.values()))[0]['mpi_library']}", ""]
    counts = {"balanced": [], "imbalanced": []}
    for (collective, pattern), rows in rows_of.items():
        of_pattern = metric or ("median" if pattern == "balanced" else "tail")
        key, _ = METRICS[of_pattern]
        lines += [f"## {collective}, {pattern}, {of_pattern}", "",
                  "| bytes | auto ran | µs | best | µs | auto / best | ± |",
                  "| ---: | --- | ---: | --- | ---: | ---: | ---: |"]
        for size, chosen, best, ratio, half in compare(rows, of_pattern):
            lines.append(f"| {plot.size_label(size)} | {chosen['resolved']} | {chosen[key]:.4g} | "
                         f"{best['algorithm']} | {best[key]:.4g} | {ratio:.2f} | {half:.2f} |")
            counts["balanced" if pattern == "balanced" else "imbalanced"].append((ratio, half))
        lines.append("")
    for kind, points in counts.items():
        for limit in (1.05, 1.1, 1.15):
            if points:
                lines.append(f"{kind}: {sum(ratio <= limit for ratio, _ in points)} of {len(points)} "
                             f"points within {limit:g}, "
                             f"{sum(ratio - half <= limit for ratio, half in points)} with the "
                             "confidence interval")
        if points:
            logs = [math.log(ratio) for ratio, _ in points]
            lines.append(f"{kind}: the worst {max(points)[0]:.2f}, geometric mean "
                         f"{math.exp(sum(logs) / len(logs)):.3f}")
    return "\n".join(lines) + "\n"


def main():
    arguments = parser().parse_args()
    directory = pathlib.Path(arguments.output)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        rows_of = {}
        collectives = list(NODE)
        if arguments.collectives != "all":
            collectives = arguments.collectives.split(",")
        unknown = set(collectives) - set(NODE)
        if unknown:
            raise BadInput(f"--collectives: {', '.join(sorted(unknown))}: take all, or some of "
                           f"{', '.join(NODE)}")
        for collective, pattern in itertools.product(collectives, arguments.patterns.split(",")):
            print(f"  {collective}, {pattern}", file=sys.stderr, flush=True)
            rows_of[collective, pattern] = measure(arguments, collective, pattern, directory)
        text = table(rows_of, arguments.metric)
        (directory / "grid.md").write_text(text, encoding="utf-8")
        print(text, end="")
        return 0
    except (BadInput, OSError, json.JSONDecodeError) as problem:
        print(f"auto_grid: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
