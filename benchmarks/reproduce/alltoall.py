#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The schedules of alltoall, and those of scan and exscan, beside SMPI's own of the same name and
beside what papcoll chooses by itself, on simulated ranks whose processors are busy with each message.
Leaves rows.jsonl, points.json, plots and comparison.md."""

import pathlib
import sys

import simulated_report as report
import simulated_study as study

RANKS = (64, 256)
BLOCKS = (8, 32, 128, 256, 512, 2048, 8192, 32768, 131072)
VECTORS = (8, 512, 4096, 32768, 131072, 524288, 1 << 21, 1 << 23)
MOST_RANKS = {"thin-fat-tree": 64}  # whose contention takes SMPI long
PLATFORMS = ("with-overheads", "thin-fat-tree")
# SMPI 3.32's that do the same, and where not: its `pair` wants 2^n ranks, its `bruck` has the radix
# 2, and its `mvapich2_scatter_dest` has 4 messages at a time, its own block among the first four.
SAME = {"Linear": "basic_linear", "Pairwise": "pair", "Ring": "ring",
        "SpreadOut:4": "mvapich2_scatter_dest", "Bruck": "bruck"}
RADIXES = tuple(f"Bruck:{r}" for r in (4, 8, 16, 32))
WINDOWS = tuple(f"SpreadOut:{w}" for w in (8, 16, 32, 64))
ALLTOALL = (*SAME, *RADIXES, *WINDOWS, "auto")
# Of many ranks, of which SMPI takes up to a minute for a call; and for one whose messages all share
# the ports, a quarter of an hour where that lasts longer than starting them.
MANY = 200
FEW_BLOCKS = (8, 256, 2048, 32768, 131072)
MOST_OF_LINEAR = 2048
FEW_VECTORS = (8, 32768, 524288, 1 << 21)
FEW_ALLTOALL = (*SAME, "Bruck:8", "Bruck:16", "SpreadOut:32", "auto")
SEGMENTS = (4096, 16384, 65536, 262144)
# Bruck's blocks on the way are copies: of longer ones hundreds of ranks have no memory here.
MOST_OF_BRUCK = 8 << 20  # bytes of all blocks of a rank
MOST_SEGMENTS = 512
MOST_OF_SMPI_SCAN = 32768  # whose ranks send the whole vector to all that come after them
NEAR = 1.05  # of the best: as good
LINES = ("Linear", "Pairwise", "SpreadOut:32", "Bruck", "Bruck:8", "auto", "RecursiveDoubling",
         "Binomial", "PipelinedChain:16384")


def alltoalls(ranks, size):
    """Those of papcoll that are run."""
    few = ranks >= MANY
    return [a for a in (FEW_ALLTOALL if few else ALLTOALL)
            if not ("Bruck" in a and size * ranks > MOST_OF_BRUCK)
            and not (few and a == "Linear" and size > MOST_OF_LINEAR)]


def blocks_of(arguments, ranks):
    if arguments.bytes:
        return arguments.bytes
    return (8, 2048, 32768) if arguments.quick else BLOCKS if ranks < MANY else FEW_BLOCKS


def vectors_of(arguments, ranks):
    if arguments.bytes:
        return arguments.bytes
    return (8, 1 << 20) if arguments.quick else VECTORS if ranks < MANY else FEW_VECTORS


def scans(size):
    pipelines = [f"PipelinedChain:{s}" for s in SEGMENTS if s < size <= s * MOST_SEGMENTS]
    return ["RecursiveDoubling", "Binomial", *pipelines, "auto"]


def measure(arguments):
    quick = arguments.quick
    ranks = arguments.ranks or ((8,) if quick else RANKS)
    rows = study.rows_of(arguments)
    if arguments.report:
        return rows

    def add(platform, p, collective, size, name, setting=""):
        rows.add(study.Run(platform, p, collective, (size,), (name,), setting, arguments.gamma,
                           in_place=False), arguments.bench, arguments.time_limit)

    for platform in PLATFORMS[:1] if quick else PLATFORMS:
        for p in ranks:
            if p > MOST_RANKS.get(platform, p):
                continue
            for size in blocks_of(arguments, p):
                run = [*SAME, "auto"] if quick else alltoalls(p, size)
                for name in run:
                    add(platform, p, "alltoall", size, name)
                for own in [SAME[name] for name in run if name in SAME]:
                    add(platform, p, "alltoall", size, "mpi", f"smpi/alltoall:{own}")
    for p in ranks:
        for collective in ("scan",) if quick or p >= MANY else ("scan", "exscan"):
            for size in vectors_of(arguments, p):
                for name in scans(size):
                    add("with-overheads", p, collective, size, name)
                if size <= MOST_OF_SMPI_SCAN:
                    add("with-overheads", p, collective, size, "mpi", "smpi/coll-selector:ompi")
    return rows


def beside_smpi(points):
    """Tables of papcoll's time over that of SMPI's own of the same name."""
    lines = []
    apart = []
    for (platform, ranks, collective, size, _), times in points.items():
        ratios = {}
        for ours, theirs in SAME.items():
            pair = times.get(ours), times.get(f"SMPI alltoall:{theirs}")
            if all(pair):
                ratios[ours] = pair[0]["seconds"] / pair[1]["seconds"]
        if ratios:
            apart += [r - 1 for r in ratios.values()]
            lines.append([platform, ranks, report.in_words(size),
                          *(f"{ratios[a]:.3f}" if a in ratios else "" for a in SAME)])
    return report.table(["platform", "ranks", "block", *(f"{a} / {b}" for a, b in SAME.items())],
                        lines), apart


def choices(points):
    """Of each point the best and what auto took, and how near it is: lines of a table, and a dict of
    lists of these ratios."""
    lines = []
    ratios = {}
    for (platform, ranks, collective, size, _), times in points.items():
        best = report.quickest(times, lambda n: n != "auto" and not n.startswith("SMPI"))
        auto = times.get("auto")
        if not best or not auto:
            continue
        ratio = auto["seconds"] / best["seconds"]
        ratios.setdefault((platform, collective), []).append(ratio)
        named = [f"{report.microseconds(times.get(a))}" for a in named_of(collective)]
        smpi = report.quickest(times, lambda n: n.startswith("SMPI"))
        lines.append([platform, collective, ranks, report.in_words(size), *named,
                      report.microseconds(smpi), best["algorithm"], report.microseconds(best),
                      auto["chosen"], report.microseconds(auto),
                      f"{ratio:.2f}" + ("" if ratio <= NEAR else " **loses**")])
    return lines, ratios


def named_of(collective):
    return ("Bruck", "Pairwise") if collective == "alltoall" else ("RecursiveDoubling", "Binomial")


def crossing(points):
    """Sentences: where Bruck of radix 2 is ahead of Pairwise."""
    sentences = []
    for platform in PLATFORMS:
        for ranks in sorted({p[1] for p in points if p[0] == platform}):
            ahead, behind = [], []
            for (where, p, collective, size, _), times in points.items():
                if (where, p, collective) != (platform, ranks, "alltoall") or "Bruck" not in times:
                    continue
                is_ahead = times["Bruck"]["seconds"] < times["Pairwise"]["seconds"]
                (ahead if is_ahead else behind).append(size)
            sentences.append(f"- {platform}, {ranks} ranks: Bruck ahead of Pairwise at "
                             f"{', '.join(map(report.in_words, ahead)) or 'no block'}; behind at "
                             f"{', '.join(map(report.in_words, behind)) or 'no block'}.\n")
    return "".join(sentences)


def compare(rows, arguments):
    points = rows.points(gamma=arguments.gamma)
    ratios, apart = beside_smpi(points)
    lines, chosen = choices(points)
    summary = [[platform, collective, len(r), sum(x <= NEAR for x in r),
                f"{sum(x <= NEAR for x in r) / len(r):.0%}", f"{max(r):.2f}"]
               for (platform, collective), r in chosen.items()]
    behind = [x for x in apart if x > 0.05]
    tables = []
    for collective in ("alltoall", "scan", "exscan"):
        some = [line[:1] + line[2:] for line in lines if line[1] == collective]
        tables.append(f"\n## {collective}: every point\n\n" + report.table(
            ["platform", "ranks", "block" if collective == "alltoall" else "vector",
             *(f"{n} µs" for n in named_of(collective)), "SMPI's best µs", "the best", "µs",
             "auto takes", "µs", "over the best"], some))
    return "".join([
        "# Alltoall and scan, simulated\n\n",
        "One call on simulated ranks, one a node, by SMPI. Platforms:\n\n",
        *(f"- {name}: {report.platform_in_words(name)}\n" for name in PLATFORMS),
        f"\nCombining a byte takes {arguments.gamma * 1e9:g} ns, a copy in memory nothing. Time is "
        "that from the common start\nto the last exit. auto goes by papcoll's built-in thresholds: its "
        "model of the network has the numbers of\nthe first platform. Of the second it knows neither "
        "that hops within a leaf are shorter nor that messages meet.\n",
        "\n## papcoll's schedules over SMPI's own of the same name\n\n",
        f"Behind by more than 5 % at {len(behind)} of {len(apart)} (by {max(apart, default=0):.1%} at "
        f"most), ahead by more than 5 % at {sum(x < -0.05 for x in apart)}. ",
        "SMPI's `ring` and `pair` send a rank its own block, too, which\ntakes no time here; its "
        "`bruck` has the radix 2 only, and of `mvapich2_scatter_dest`'s 4 messages at a time one\nof "
        "the first batch is the rank's own. papcoll's Bruck posts the receives of later rounds "
        "ahead, so that where\nranks are out of step, on the fat tree, a message does not wait for "
        "its receiver; with\n`--cfg smpi/async-small-thresh:65536`, where none does, both take as "
        "long (64 ranks, 8 B: 7.34 µs).\n\n", ratios,
        f"\n## What auto takes\n\nAs good: at most {NEAR - 1:.0%} slower than the best of papcoll's "
        f"schedules that were run. From {MANY} ranks on\nthese are fewer, and above "
        f"{report.in_words(MOST_OF_LINEAR)} Linear is not among them.\n\n",
        report.table(["platform", "collective", "points", "as good", "part", "at worst"], summary),
        "\n" + crossing(points), *tables, report.notes_on(rows)])


def main():
    arguments = study.parse(study.parser_of(__doc__, RANKS, BLOCKS))
    rows = measure(arguments)
    points = report.write(compare(rows, arguments), rows, arguments)
    report.draw(points, pathlib.Path(arguments.output) / "alltoall.png", LINES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
