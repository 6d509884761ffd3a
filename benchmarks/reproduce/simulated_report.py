# SPDX-License-Identifier: BSD-3-Clause
"""What the studies in simulation leave beside their rows: comparison.md, points.json and plots."""

import json
import pathlib
import sys

import platforms


def quickest(times, wanted, metric="seconds"):
    """The row with the least time of the algorithms that are wanted(name), or None."""
    return min((row for name, row in times.items() if wanted(name)), key=lambda row: row[metric],
               default=None)


def write(text, rows, arguments):
    """comparison.md and points.json; the points of all rows."""
    output = pathlib.Path(arguments.output)
    (output / "comparison.md").write_text(text, encoding="utf-8")
    print(output / "comparison.md")
    points = rows.points(gamma=arguments.gamma)
    write_points(points, output / "points.json")
    return points


def write_points(points, file):
    """All times of a point in one JSON object, a line each."""
    lines = []
    for (platform, ranks, collective, size, options), times in points.items():
        point = {"platform": platform, "ranks": ranks, "collective": collective, "bytes": size}
        if options:
            point["options"] = options
        point["microseconds"] = {name: round(row["seconds"] * 1e6, 3)
                                 for name, row in sorted(times.items())}
        lines.append(json.dumps(point))
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def in_words(size):
    for unit, text in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {text}"
    return f"{size} B"


def microseconds(row, metric="seconds"):
    return f"{row[metric] * 1e6:.1f}" if row else ""


def with_all_selectors(points, rows):
    """The points at which all selectors have been run: what is missing might be the best. The others
    are left out, which rows are told."""
    def selectors_in(times):
        return sum(name.startswith("SMPI coll-selector") for name in times)

    most = max(map(selectors_in, points.values()), default=0)
    whole = {}
    for point, times in points.items():
        if selectors_in(times) == most:
            whole[point] = times
            continue
        platform, ranks, collective, size, _ = point
        rows.left_out.append(f"{platform}, {ranks} ranks, {collective}, {in_words(size)}: not all "
                             "selectors have been run")
    return whole


def notes_on(rows):
    if not rows.left_out:
        return ""
    return "\nLeft out:\n\n" + "".join(f"- {line}\n" for line in rows.left_out)


def not_run(points, calls, ranks, sizes):
    """Of all points of a study those that have no row. `calls`: (platform, collective)."""
    there = {(platform, collective, p, size) for platform, p, collective, size, _ in points}
    lines = []
    for platform, collective in calls:
        for p in ranks:
            missing = [in_words(s) for s in sizes if (platform, collective, p, s) not in there]
            if missing:
                lines.append(f"- {platform}, {collective}, {p} ranks: {', '.join(missing)}\n")
    return "\nNot run:\n\n" + "".join(lines) if lines else ""


def platform_in_words(name):
    return " ".join((platforms.NAMES[name].__doc__ or "").split())


def draw_quickest(points, lines, file):
    """Over ranks, a line for each of {label: wanted(name)}: at every point the quickest of its."""
    best = {point: {label: row for label, wanted in lines.items()
                    if (row := quickest(times, wanted))}
            for point, times in points.items()}
    draw(best, file, lines, x="ranks")


def pyplot():
    """matplotlib's, for files; None, and a line on stderr, where it is not installed."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError as problem:
        print(f"no plots ({problem}): install matplotlib 3.6 or newer (python3-matplotlib) and run "
              "this again with --resume", file=sys.stderr)
        return None
    return plt


def draw(points, file, wanted, x="bytes"):
    """A panel for each collective and number of ranks (or, over ranks, size), a line a candidate."""
    plt = pyplot()
    if plt is None:
        return
    panels = {}
    for (platform, ranks, collective, size, _), times in points.items():
        panel = (platform, collective, ranks if x == "bytes" else size)
        at = size if x == "bytes" else ranks
        for name in wanted:
            if name in times:
                panels.setdefault(panel, {}).setdefault(name, []).append(
                    (at, times[name]["seconds"] * 1e6))
    if not panels:
        return
    columns = min(4, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(lines, columns, squeeze=False,
                                figsize=(4.5 * columns, 3.4 * lines))
    for axis, (panel, series) in zip(axes.flat, sorted(panels.items(), key=lambda panel: panel[0])):
        for name, values in series.items():
            axis.plot(*zip(*sorted(values)), marker="o", markersize=3, label=name)
        last = f"{panel[2]} ranks" if x == "bytes" else in_words(panel[2])
        axis.set_title(f"{panel[1]}, {last}, {panel[0]}", fontsize=9)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xlabel("bytes" if x == "bytes" else "ranks")
        axis.set_ylabel("simulated µs")
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(panels):]:
        axis.axis("off")
    handles, labels = next(iter(axes.flat)).get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, fontsize=8)
    figure.tight_layout(rect=(0, 0.02 + 0.06 / lines, 1, 1))
    figure.savefig(file, dpi=80)
    plt.close(figure)
