#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What OnTopology saves on simulated clusters, from ranks that are placed by core, by node, by socket
and at random: each schedule as it is and laid along the machine, through SMPI. Sizes are those of the
whole vector. Leaves rows.jsonl, points.json, saved-*.png and comparison.md."""

import json
import pathlib
import sys

import platforms
import simulated_report as report
import simulated_study as study

SIZES = (65536, 1 << 20, 16 << 20)
OF_RANKS = ("allgather", "reduce_scatter")  # sizes are those of a rank's block to papcoll-bench
LOGARITHMIC = (
    ("allreduce", "Rabenseifner"), ("bcast", "Binomial"), ("bcast", "KNomial:4"),
    ("bcast", "BinaryTree"), ("allgather", "RecursiveDoubling"),
    ("reduce_scatter", "RecursiveHalving"), ("allreduce", "RecursiveDoubling"),
    ("allgather", "Bruck"))
LONG = (("bcast", "TwoTreeComplete"), ("allreduce", "TwoTreeComplete"),
        ("bcast", "ScatterAllgather"), ("allreduce", "Ring"), ("allgather", "Ring"))
SCHEDULES = LOGARITHMIC + LONG
QUICK = (("allreduce", "Rabenseifner"), ("allreduce", "RecursiveDoubling"))
CLUSTERS = {("fat-tree", 256): SCHEDULES, ("fat-tree", 1024): LOGARITHMIC,
            ("dragonfly", 256): SCHEDULES}
SAVED = 0.01  # part of the time: what loses more is listed


def placements_of(kind):
    """Of nodes with one package, by-socket is by-core."""
    return tuple(p for p in platforms.PLACEMENTS if kind == "fat-tree" or p != "by-socket")


def runs(arguments):
    """(kind, ranks, placement, collective, schedule, size of the whole vector), the quick ones
    first."""
    clusters = {("fat-tree", 64): QUICK} if arguments.quick else CLUSTERS
    found = [(kind, ranks, placement, *call, size)
             for (kind, ranks), calls in clusters.items()
             if kind in (arguments.cluster or platforms.CLUSTERS)
             for call in calls for size in arguments.bytes or SIZES[:1 if arguments.quick else None]
             for placement in arguments.placement or placements_of(kind)
             if (not arguments.ranks or ranks in arguments.ranks)
             and (not arguments.schedule or call[1] in arguments.schedule)]
    return sorted(found, key=lambda run: (run[3:5] in LONG, run[5] if run[3:5] in LONG else 0))


def size_to_bench(collective, ranks, size):
    return max(size // ranks // 8, 1) * 8 if collective in OF_RANKS else size


def measure(arguments):
    rows = study.rows_of(arguments)
    if arguments.report:
        return rows
    for kind, ranks, placement, collective, name, size in runs(arguments):
        platform = f"{kind}-{placement}"
        rows.add(study.Run(platform, ranks, collective, (size_to_bench(collective, ranks, size),),
                           (f"{name}+MpiTransport", f"OnTopology+{name}+MpiTransport"),
                           gamma=arguments.gamma,
                           options=platforms.machine_options(platform, ranks)),
                 arguments.bench, arguments.time_limit)
    return rows


def saved(times, name):
    """The part of the time that OnTopology saves, or None."""
    plain = times.get(f"{name}+MpiTransport")
    mapped = times.get(f"OnTopology+{name}+MpiTransport")
    return 1 - mapped["seconds"] / plain["seconds"] if plain and mapped else None


def all_saved(rows, arguments):
    """{run, as above: part saved}, for all that have been run."""
    found = {}
    for (platform, ranks, collective, size, _), times in rows.points(gamma=arguments.gamma).items():
        kind, placement = platforms.cluster_of(platform)
        whole = size * ranks if collective in OF_RANKS else size
        for served, name in SCHEDULES:
            part = saved(times, name) if served == collective else None
            if part is not None:
                found[kind, ranks, placement, collective, name, whole] = part
    return found


def percent(part):
    return "" if part is None else f"{part:.0%}".replace("-0%", "0%")


def points_table(found, kind, ranks):
    lines = [[ranks, collective, name, report.in_words(size),
              *(percent(found.get((kind, ranks, p, collective, name, size)))
                for p in placements_of(kind))]
             for collective, name in SCHEDULES
             for size in sorted({run[5] for run in found
                                 if run[:2] == (kind, ranks) and run[3:5] == (collective, name)})]
    return report.table(["ranks", "collective", "X", "size", *placements_of(kind)], lines)


def published_table(found):
    """Beside each published figure the schedule that is like it here, at all sizes."""
    published = json.loads((study.HERE / "published.json").read_text(encoding="utf-8"))
    part = published["topology"]
    lines = []
    for point in part["points"]:
        here = {}
        for (kind, ranks, placement, collective, name, _), gain in sorted(found.items()):
            if (placement, collective, name) == (point["placement"], point["collective"],
                                                 point["like"]):
                here.setdefault((kind, ranks), []).append(gain)
        cell = "; ".join(f"{kind}, {ranks} ranks: " +
                         " to ".join(dict.fromkeys(map(percent, (min(gains), max(gains)))))
                         for (kind, ranks), gains in here.items())
        lines.append([point["collective"], point["algorithm"], point["placement"],
                      f"{point['platform']}, {point['ranks']} ranks", point["sizes"],
                      point["gain"], cell or "not run"])
    return "".join([
        f"\n## Published\n\n{part['source']}. {part['meaning']}\n\n",
        report.table(["collective", "algorithm", "placement", "published on", "sizes",
                      "published gain", "here"], lines),
        "\n", *(f"- {remark}\n" for remark in part["remarks"])])


def compare(rows, arguments):
    found = all_saved(rows, arguments)
    slower = [f"- {collective}, {name}, {kind}, {ranks} ranks, {report.in_words(size)}, "
              f"{placement}: {-part:.1%}\n"
              for (kind, ranks, placement, collective, name, size), part in sorted(found.items())
              if part < -SAVED]
    text = ["# What OnTopology saves, simulated\n\n",
            "The part of the time of `X+MpiTransport` that `OnTopology+X+MpiTransport` saves, by "
            "SMPI; sizes are those\nof the whole vector, combining a byte takes "
            f"{arguments.gamma * 1e9:g} ns.\n",
            "\nSlower by more than 1 %:" + (" none.\n" if not slower else "\n\n" + "".join(slower))]
    for kind, ranks in dict.fromkeys(run[:2] for run in sorted(found)):
        text += [f"\n## {kind}, {ranks} ranks\n\n",
                 report.platform_in_words(f"{kind}-by-core"), "\n\n",
                 points_table(found, kind, ranks)]
    return "".join([*text, published_table(found), not_run(found, arguments)])


def not_run(found, arguments):
    """What of the study has no row, those alike in a line."""
    sizes = {}  # that a schedule lacks
    for run in runs(arguments):
        if run not in found:
            sizes.setdefault(run[:5], []).append(report.in_words(run[5]))
    schedules = {}  # that lack the same
    for (kind, ranks, placement, collective, name), lacking in sizes.items():
        schedules.setdefault((kind, ranks, placement, ", ".join(lacking)), []).append(
            f"{name} ({collective})")
    lines = [f"- {kind}, {ranks} ranks, {placement}, {lacking}: {', '.join(names)}\n"
             for (kind, ranks, placement, lacking), names in sorted(schedules.items())]
    return "\nNot run:\n\n" + "".join(lines) if lines else ""


def draw(found, kind, ranks, file):
    """A panel a size, a group of bars a schedule, a bar a placement."""
    plt = report.pyplot()
    if plt is None:
        return
    here = {run[2:]: part for run, part in found.items() if run[:2] == (kind, ranks)}
    sizes = sorted({run[3] for run in here})
    calls = [call for call in SCHEDULES if any(run[1:3] == call for run in here)]
    figure, axes = plt.subplots(1, len(sizes), squeeze=False, sharey=True,
                                figsize=(2 + 3 * len(sizes), 1.2 + 0.45 * len(calls)))
    for axis, size in zip(axes.flat, sizes):
        for i, placement in enumerate(placements_of(kind)):
            at = [(y + 0.2 * (i - 1.5), 100 * here[placement, *call, size])
                  for y, call in enumerate(calls) if (placement, *call, size) in here]
            axis.barh([y for y, _ in at], [part for _, part in at], height=0.18, label=placement)
        axis.set(title=report.in_words(size), xlabel="time saved [%]", xlim=(-5, 100),
                 yticks=range(len(calls)),
                 yticklabels=[f"{name}, {collective}" for collective, name in calls])
        axis.axvline(0, color="#777777", linewidth=1)
        axis.grid(axis="x", alpha=0.3)
    axes.flat[0].invert_yaxis()
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.suptitle(f"What OnTopology saves: {kind}, {ranks} ranks, simulated", fontsize=10)
    figure.legend(handles, labels, loc="lower center", ncols=4, fontsize=8)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(file, dpi=80)
    plt.close(figure)


def main():
    parser = study.parser_of(__doc__, (256, 1024), SIZES)
    parser.add_argument("--cluster", action="append", choices=platforms.CLUSTERS,
                        help="repeatable (default: all)")
    parser.add_argument("--placement", action="append", choices=platforms.PLACEMENTS,
                        help="repeatable (default: all)")
    parser.add_argument("--schedule", action="append", metavar="X",
                        choices=sorted({name for _, name in SCHEDULES}),
                        help="repeatable (default: all)")
    arguments = study.parse(parser)
    rows = measure(arguments)
    report.write(compare(rows, arguments), rows, arguments)
    found = all_saved(rows, arguments)
    for kind, ranks in dict.fromkeys(run[:2] for run in sorted(found)):
        draw(found, kind, ranks, pathlib.Path(arguments.output) / f"saved-{kind}-{ranks}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
