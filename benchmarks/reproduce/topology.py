#!/usr/bin/env python3
"""What OnTopology saves on a simulated fat tree, from ranks that are placed by core, by node, by
socket and at random: each schedule as it is and laid along the machine, through SMPI. Sizes are
those of the whole vector. Leaves rows.jsonl, points.json and comparison.md."""

import sys

import platforms
import simulated_report as report
import simulated_study as study

RANKS = (256,)
SIZES = (65536, 1 << 20, 16 << 20)
LONG = 65536  # to here schedules of as many steps as ranks are simulated, which takes long
OF_RANKS = ("allgather", "reduce_scatter")  # sizes are those of a rank's block to papcoll-bench
SCHEDULES = (
    ("allreduce", "Rabenseifner"), ("bcast", "Binomial"), ("bcast", "KNomial:4"),
    ("allgather", "RecursiveDoubling"), ("reduce_scatter", "RecursiveHalving"),
    ("allreduce", "RecursiveDoubling"), ("allgather", "Bruck"), ("bcast", "TwoTreeComplete"),
    ("allreduce", "TwoTreeComplete"), ("bcast", "ScatterAllgather"), ("allreduce", "Ring"),
    ("allgather", "Ring"))
STEPS_AS_RANKS = ("ScatterAllgather", "Ring")
QUICK = SCHEDULES[:1] + SCHEDULES[5:6]
SAVED = 0.01  # part of the time: what loses more is listed


def sizes_of(name, sizes):
    return tuple(s for s in sizes if s <= LONG or name not in STEPS_AS_RANKS)


def measure(arguments):
    ranks = arguments.ranks or ((64,) if arguments.quick else RANKS)
    sizes = arguments.sizes or ((65536,) if arguments.quick else SIZES)
    rows = study.rows_of(arguments)
    if arguments.report:
        return rows
    for p in ranks:
        for collective, name in QUICK if arguments.quick else SCHEDULES:
            for placement in arguments.placement or platforms.PLACEMENTS:
                wanted = sizes_of(name, sizes)
                if collective in OF_RANKS:
                    wanted = tuple(max(s // p // 8, 1) * 8 for s in wanted)
                platform = f"fat-tree-{placement}"
                if wanted:
                    rows.add(study.Run(platform, p, collective, wanted,
                                       (f"{name}+MpiTransport", f"OnTopology+{name}+MpiTransport"),
                                       gamma=arguments.gamma,
                                       options=platforms.machine_options(platform, p)),
                             arguments.bench, arguments.time_limit)
    return rows


def saved(times, name):
    """The part of the time that OnTopology saves, or None."""
    plain = times.get(f"{name}+MpiTransport")
    mapped = times.get(f"OnTopology+{name}+MpiTransport")
    return 1 - mapped["seconds"] / plain["seconds"] if plain and mapped else None


def compare(rows, arguments):
    found = {}  # (ranks, collective, name, bytes): {placement: part saved}
    slower = []
    for (platform, ranks, collective, size, _), times in rows.points(gamma=arguments.gamma).items():
        placement = platform.removeprefix("fat-tree-")
        for served, name in SCHEDULES:
            part = saved(times, name) if served == collective else None
            if part is None:
                continue
            whole = size * ranks if collective in OF_RANKS else size
            found.setdefault((ranks, collective, name, whole), {})[placement] = part
            if part < -SAVED:
                slower.append(f"- {collective}, {name}, {ranks} ranks, {report.in_words(whole)}, "
                              f"{placement}: {-part:.1%}\n")
    order = {call: i for i, call in enumerate(SCHEDULES)}
    lines = [[ranks, collective, name, report.in_words(size),
              *(f"{parts[p]:.0%}".replace("-0%", "0%") if p in parts else ""
                for p in platforms.PLACEMENTS)]
             for (ranks, collective, name, size), parts in
             sorted(found.items(), key=lambda item: (item[0][0], order[item[0][1:3]], item[0][3]))]
    return "".join([
        "# What OnTopology saves, simulated\n\n",
        "The part of the time of `X+MpiTransport` that `OnTopology+X+MpiTransport` saves, by "
        "SMPI; sizes are those\nof the whole vector, combining a byte takes "
        f"{arguments.gamma * 1e9:g} ns. Platform:\n",
        report.platform_in_words("fat-tree-by-core"), "\n",
        "\nSlower by more than 1 %:" + (" none.\n" if not slower else "\n\n" + "".join(slower)),
        "\n", report.table(["ranks", "collective", "X", "size", *platforms.PLACEMENTS], lines),
        report.notes_on(rows)])


def main():
    parser = study.parser_of(__doc__, RANKS, SIZES)
    parser.add_argument("--placement", action="append", choices=platforms.PLACEMENTS,
                        help="repeatable (default: all)")
    arguments = study.parse(parser)
    rows = measure(arguments)
    report.write(compare(rows, arguments), rows, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
