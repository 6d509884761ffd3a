#!/usr/bin/env python3
"""Two-tree collectives against pipelines, trees, scatter-allgather and what four MPI libraries
choose, on simulated ranks without contention: bcast, reduce and allreduce at the sizes of the TwoTreeC
draft. Leaves rows.jsonl, two_trees.png and comparison.md."""

import math
import pathlib
import sys

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
             for segment in (8192, 16384, 65536)]
OTHERS = {
    "bcast": [*PIPELINES, "ScatterAllgather", "Binomial"],
    "reduce": [*PIPELINES, "ReduceScatterGather", "Binomial"],
    "allreduce": ["Rabenseifner", "RecursiveDoubling", "Ring",
                  *(f"ReduceThenBcast:{p},{p}" for p in PIPELINES if ":8192" not in p)],
}
LARGE = 1 << 20
WITHIN = 1.005  # "at or ahead": as quick but for half a percent


def bound(collective, ranks, size, gamma):
    """Seconds that no algorithm can beat: what one port must pass, what a rank must combine, and
    the first byte's way."""
    start = math.ceil(math.log2(ranks)) * study.ALPHA
    if collective == "bcast":
        return start + size * study.BETA
    share = (ranks - 1) / ranks * size  # a reduction's, if all ranks combine equally much
    if collective == "reduce":
        return start + max(size * study.BETA, share * gamma)
    return start + max(2 * share * study.BETA, share * gamma)


def measure(arguments):
    ranks = arguments.ranks or ((8, 9) if arguments.quick else RANKS)
    sizes = arguments.sizes or ((256, 65536) if arguments.quick else SIZES)
    selectors = study.SELECTORS[:1] if arguments.quick else study.SELECTORS
    rows = study.Rows(pathlib.Path(arguments.output) / "rows.jsonl", arguments.resume)
    for collective, own in OWN.items():
        wanted = arguments.candidates.split(";") if arguments.candidates else own
        candidates = study.known(arguments.bench, [*wanted, *OTHERS[collective]], collective)
        for p in ranks:
            few = tuple(c for c in candidates if c != "Ring" or p <= 128)
            rows.add(study.Run("contention-free", p, collective, sizes, few,
                               gamma=arguments.gamma), arguments.bench, arguments.time_limit)
            for selector in selectors:
                rows.add(study.Run("contention-free", p, collective, sizes, ("mpi",),
                                   f"smpi/coll-selector:{selector}", arguments.gamma),
                         arguments.bench, arguments.time_limit)
    return rows


def best_of(times, names):
    return min((times[n] for n in names if n in times), key=lambda r: r["seconds"], default=None)


def compare(rows, arguments):
    """The text of comparison.md."""
    head = ["collective", "ranks", "size", "TwoTreeComplete µs", "best two trees µs", "which",
            "best other µs", "which", "other / TwoTreeComplete", "over the bound"]
    lines = []
    verdicts = {}
    bounds = []
    for (_, ranks, collective, size, _), times in rows.points(gamma=arguments.gamma).items():
        trees = [n for n in times if "TwoTree" in n]
        ours = times.get("TwoTreeComplete") or best_of(times, trees)
        other = best_of(times, [n for n in times if n not in trees])
        best = best_of(times, trees)
        if not ours or not other:
            continue
        ratio = other["seconds"] / ours["seconds"]
        over = ours["seconds"] / bound(collective, ranks, size, arguments.gamma)
        mark = "" if ratio * WITHIN >= 1 else " **loses**"
        lines.append([collective, ranks, study.in_words(size), study.microseconds(ours),
                      study.microseconds(best), best["algorithm"], study.microseconds(other),
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
            study.platform_in_words("contention-free") +
            f" Combining a byte takes {arguments.gamma * 1e9:g} ns. A port's\nmessages in flight "
            "share its bandwidth. Time is that from the common start to the last exit.\n",
            "\n## At or ahead of every other candidate, from 1 MB up\n",
            study.table(["", "points", "at or ahead", "part"],
                        [[k, len(v), sum(v), f"{sum(v) / len(v):.0%}"]
                         for k, v in sorted(verdicts.items())])]
    if bounds:
        worst = max(bounds)
        text.append(f"\nAt 7 MB TwoTreeComplete is at most {worst[0]:.2f} times the bound "
                    f"({worst[1]}, {worst[2]} ranks): the start-up of ⌈log2 P⌉ messages, and "
                    "whichever is longer,\nsending through one port or combining.\n")
    text += ["\n## Every point\n\n", study.table(head, lines), study.notes_on(rows)]
    return "\n".join(text)


def main():
    parser = study.parser_of(__doc__)
    parser.add_argument("--candidates", metavar="NAME;NAME…",
                        help="two-tree schedules, instead of those that papcoll-bench has")
    arguments = parser.parse_args()
    output = pathlib.Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    rows = measure(arguments)
    (output / "comparison.md").write_text(compare(rows, arguments), encoding="utf-8")
    points = rows.points(gamma=arguments.gamma)
    names = sorted({name for times in points.values() for name in times})
    study.draw(points, output / "two_trees.png", names)
    print(output / "comparison.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
