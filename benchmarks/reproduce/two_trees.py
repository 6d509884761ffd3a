#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two-tree collectives against pipelines, trees, scatter-allgather and what four MPI libraries
choose, on simulated ranks without contention: bcast, reduce and allreduce at the sizes of the TwoTreeC
draft. Leaves rows.jsonl, two_trees.png and comparison.md."""

import pathlib
import sys

import simulated_report as report
import simulated_study as study

SIZES = (256, 512, 1 << 20, 3 << 20, 5 << 20, 7 << 20)
RANKS = (16, 17, 21, 32, 33, 64, 65, 127, 128, 129, 256, 257, 509, 512)
OWN = {
    "bcast": ["TwoTreeComplete", "ReorderedTwoTree", "TwoTreeSanders"],
    "reduce": ["TwoTreeComplete", "TwoTreeSanders"],
    "allreduce": ["TwoTreeComplete", "ReduceThenBcast:TwoTreeComplete,TwoTreeComplete",
                  "ReduceThenBcast:TwoTreeComplete,ReorderedTwoTree",
                  "ReduceThenBcast:TwoTreeSanders,TwoTreeComplete"],
}
# Pipelines with several segments: one size does not do for all.
PIPELINES = [f"Pipelined{shape}:{segment}" for shape in ("Chain", "BinaryTree")
             for segment in (8192, 16384, 32768)]
OTHERS = {
    "bcast": [*PIPELINES, "ScatterAllgather", "Binomial"],
    "reduce": [*PIPELINES, "ReduceScatterGather", "Binomial"],
    "allreduce": ["Rabenseifner", "RecursiveDoubling", "Ring",
                  *(f"ReduceThenBcast:{p},{p}" for p in PIPELINES if ":8192" not in p)],
}
LINES = {  # of the plot: the best of each kind
    "TwoTreeComplete": lambda n: n == "TwoTreeComplete",
    "pipelines": lambda n: "Pipelined" in n,
    "scattered, ring": lambda n: n in ("ScatterAllgather", "ReduceScatterGather", "Rabenseifner",
                                       "Ring"),
    "Binomial, RecursiveDoubling": lambda n: n in ("Binomial", "RecursiveDoubling"),
    "SMPI's selectors": lambda n: n.startswith("SMPI"),
}
LARGE = 1 << 20
# Of a pipeline papcoll keeps at most 16 blocks in flight, too few for a reduce and a bcast through
# many ranks: with as many as it takes, allreduce's are in papcoll's own simulator only.
WINDOW = 256
WIDE = f" ({WINDOW} blocks in flight, papcoll's simulator)"
WITHIN = 1.005  # "at or ahead": as quick but for half a percent
SIEVE_FROM = 64  # ranks
NEAR = 1.1  # times the best by papcoll's simulator: through SMPI, too
MANY = 200  # ranks from which on SMPI runs the best only


def bound(collective, ranks, size, gamma):
    """Seconds that no algorithm can beat: a message's start, and what one port must pass or one
    rank combine."""
    share = (ranks - 1) / ranks * size  # a reduction's, if all ranks combine equally much
    if collective == "bcast":
        return study.ALPHA + size * study.BETA
    if collective == "reduce":
        return study.ALPHA + max(size * study.BETA, share * gamma)
    return study.ALPHA + max(2 * share * study.BETA, share * gamma)


def sieved(sieve, ranks, collective, sizes, own, candidates):
    """For SMPI: the one to be judged, at each size the best other one, and all that are near."""
    others = [c for c in candidates if "TwoTree" not in c]
    few = {own: True}
    for size in sizes:
        few.update(dict.fromkeys(sieve.near_best(collective, ranks, size, others, 1)))
        near = NEAR if ranks < MANY else 1
        few.update(dict.fromkeys(sieve.near_best(collective, ranks, size, candidates, near)))
    return tuple(few)


def measure(arguments):
    ranks = arguments.ranks or ((8, 17) if arguments.quick else RANKS)
    sizes = arguments.bytes or ((256, LARGE) if arguments.quick else SIZES)
    selectors = study.SELECTORS[:1] if arguments.quick else study.SELECTORS
    rows, sieve = study.rows_of(arguments), study.sieve_of(arguments)
    if arguments.report:
        return rows, sieve

    def add(p, collective, some, algorithms, setting=""):
        rows.add(study.Run("contention-free", p, collective, some, tuple(algorithms), setting,
                           arguments.gamma), arguments.bench, arguments.time_limit)

    collectives = arguments.collective or list(OWN)
    owned = {c: arguments.candidates.split(";") if arguments.candidates else OWN[c]
             for c in collectives}
    known = {c: study.known(arguments.bench, [*owned[c], *OTHERS[c]], c) for c in collectives}
    if arguments.candidates and any(set(owned[c]) - set(known[c]) for c in collectives):
        sys.exit("--candidates: see what was left out, and why, above")
    for p in ranks:
        for collective in collectives:
            own, candidates = owned[collective], known[collective]
            # SMPI 3.32 looks through all that a process has ever sent: long calls have their own.
            for some in filter(None, [tuple(s for s in sizes if s < LARGE),
                                      *((s,) for s in sizes if s >= LARGE)]):
                if arguments.sieve and collective == "allreduce":
                    pipelines = [c for c in candidates if "Pipelined" in c]
                    for size in some:
                        sieve.simulate(collective, p, size, pipelines, WINDOW, WIDE)
                few = candidates
                if arguments.sieve and p >= SIEVE_FROM:
                    few = sieved(sieve, p, collective, some, own[0], candidates)
                elif arguments.sieve:
                    for size in some:
                        sieve.simulate(collective, p, size, candidates)
                for names in [[name] for name in few] if some[0] >= LARGE else [few]:
                    add(p, collective, some, names)
                for selector in selectors:
                    add(p, collective, some, ["mpi"], f"smpi/coll-selector:{selector}")
    return rows, sieve


def compare(rows, sieve, arguments):
    """The text of comparison.md."""
    judged = arguments.candidates.split(";")[0] if arguments.candidates else "TwoTreeComplete"
    head = ["collective", "ranks", "size", f"{judged} µs", "best two trees µs", "which",
            "best other µs", "which", f"other / {judged}", "over the bound"]
    lines = []
    verdicts = {}
    bounds = []
    points = report.with_all_selectors(rows.points(gamma=arguments.gamma), rows)
    for (_, ranks, collective, size, _), times in points.items():
        times.update({n: {"algorithm": n, "seconds": seconds}
                      for (*at, n), seconds in sieve.times.items()
                      if n.endswith(WIDE) and at == [ranks, collective, size]})
        best = report.quickest(times, lambda n: "TwoTree" in n)
        ours = times.get(judged)
        other = report.quickest(times, lambda n: "TwoTree" not in n)
        if not ours or not other:
            rows.left_out.append(f"{collective}, {ranks} ranks, {report.in_words(size)}: only one "
                                 "side has been run")
            continue
        ratio = other["seconds"] / ours["seconds"]
        over = ours["seconds"] / bound(collective, ranks, size, arguments.gamma)
        mark = "" if ratio * WITHIN >= 1 else " **loses**"
        lines.append([collective, ranks, report.in_words(size), report.microseconds(ours),
                      report.microseconds(best), best["algorithm"], report.microseconds(other),
                      other["algorithm"], f"{ratio:.2f}{mark}", f"{over:.2f}"])
        if size >= LARGE:
            is_power = ranks & (ranks - 1) == 0
            kind = collective
            if collective == "allreduce":
                kind += ", powers of two" if is_power else ", other numbers of ranks"
            verdicts.setdefault(kind, []).append(ratio * WITHIN >= 1)
            if size == max(SIZES):
                bounds.append((over, collective, ranks))
    text = ["# Two-tree collectives in simulation\n",
            "The TwoTreeC draft states no numbers that could stand here; what it claims is that the "
            "two complete\ntrees are ahead of linear pipeline, binary tree and scatter-allgather "
            "for large messages. Simulated\nby SMPI: " +
            report.platform_in_words("contention-free") +
            f" Combining a byte takes {arguments.gamma * 1e9:g} ns. A port's\nmessages in flight "
            "share its bandwidth. Time is that from the common start to the last exit.\n",
            "\n## At or ahead of every other candidate, from 1 MB up\n",
            report.table(["", "points", "at or ahead", "part"],
                         [[k, len(v), sum(v), f"{sum(v) / len(v):.0%}"]
                          for k, v in sorted(verdicts.items())])]
    if bounds:
        worst = max(bounds)
        text.append(f"\nAt 7 MB {judged} is at most {worst[0]:.2f} times the bound "
                    f"({worst[1]}, {worst[2]} ranks): a message's start, and whichever is "
                    "longer,\nsending through one port or combining.\n")
    if sieve.times:
        text.append(f"\nFrom {SIEVE_FROM} ranks on SMPI ran, of papcoll's own schedules, "
                    f"{judged}, the best of the others\nand, below "
                    f"{MANY} ranks, those within {NEAR - 1:.0%} of the best by `papcoll simulate "
                    "--ports shared`, whose\ntimes the run leaves in sieve.jsonl. " +
                    sieve.agreement(rows))
    text += ["\n## Every point\n\n", report.table(head, lines), report.notes_on(rows)]
    if arguments.report:
        text.append(report.not_run(rows.points(gamma=arguments.gamma),
                                   [("contention-free", c) for c in OWN], RANKS, SIZES))
    return "\n".join(text)


def main():
    parser = study.parser_of(__doc__, RANKS, SIZES)
    parser.add_argument("--candidates", metavar="NAME;NAME…",
                        help="two-tree schedules, instead of those that papcoll-bench has")
    parser.add_argument("--collective", action="append", choices=OWN, help="repeatable")
    arguments = study.parse(parser)
    rows, sieve = measure(arguments)
    points = report.write(compare(rows, sieve, arguments), rows, arguments)
    report.draw_quickest(points, LINES, pathlib.Path(arguments.output) / "two_trees.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
