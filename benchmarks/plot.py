#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what papcoll-bench --json wrote: a quantity against the message size, one line an
algorithm with its 95 % confidence interval, one panel an arrival pattern, and the lower bound."""

import argparse
import json
import math
import sys

# What can be drawn: title of the axis, key of the value, key of the interval around it, and does
# bound_us bound it?
METRICS = {
    "mean": ("mean time in the call [µs]", "mean_us", "ci95_us", "balanced"),
    "median": ("median time in the call [µs]", "median_us", None, "balanced"),
    "p95": ("95th percentile of the time in the call [µs]", "p95_us", None, "balanced"),
    "tail": ("last arrival to last exit, median [µs]", "tail_median_us", None, "always"),
    "tail-mean": ("last arrival to last exit, mean [µs]", "tail_mean_us", "tail_ci95_us", "always"),
}

# In these nobody can leave before the last has come, so that the bound of the tail also bounds the
# mean over the ranks where all come at once.
EVERYBODY_WAITS = {"allreduce", "allgather", "reduce_scatter", "barrier"}

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#555555"]
MARKERS = "osD^vPX*"


class BadInput(Exception):
    pass


def read_rows(names, metric):
    rows = []
    _, value, interval, _ = METRICS[metric]
    numbers = {"ranks", "nodes", "bytes", "spread_us", "mif", "bound_us", value}
    needed = {"collective", "algorithm", "arrival", "spread_from", interval or value} | numbers
    for name in names:
        try:
            with sys.stdin if name == "-" else open(name, encoding="utf-8") as file:
                lines = file.readlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise BadInput(f"cannot read {name}: {problem}") from problem
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as problem:
                raise BadInput(f"{name}, line {number}, column {problem.colno}: not JSON "
                               "(write it with papcoll-bench --json)") from problem
            missing = needed - row.keys() if isinstance(row, dict) else needed
            if missing:
                raise BadInput(f"{name}, line {number}: no {', '.join(sorted(missing))}")
            if interval and row[interval] is None:  # infinite: there was only one sample
                row[interval] = 0
            for key in sorted(numbers | ({interval} if interval else set())):
                if not isinstance(row[key], (int, float)) or not math.isfinite(row[key]):
                    raise BadInput(f"{name}, line {number}: {key} is no number: {row[key]!r}")
            rows.append(row)
    if not rows:
        raise BadInput("there is nothing to draw")
    return rows


def panel_of(row):
    """Panels are told apart by collective, ranks and pattern. A MIF is a spread that grows with the
    size, so it is what names the panel where it was what was asked for."""
    pattern = row["arrival"]
    if row["spread_from"] == "mif":
        pattern += f", MIF {row['mif']:.4g}"
    elif row["spread_from"] == "duration":
        pattern += f", spread {row['spread_us']:.4g} µs"
    nodes = f" on {row['nodes']} nodes" if row["nodes"] > 1 else ""
    return f"{row['collective']}, {row['ranks']} ranks{nodes}, {pattern}"


def size_label(size, _=None):
    for suffix in ("", "k", "M", "G"):
        if size < 1024:
            return f"{size:.4g}{suffix}"
        size /= 1024
    return f"{size:.4g}T"


def ticks_at(sizes):
    """The measured sizes; of many, every second, third… so that the labels have room."""
    sizes = sorted({max(size, 1) for size in sizes})
    return sizes[::math.ceil(len(sizes) / 12)]


def draw(axes, rows, metric, styles):
    _, value, interval, bounded = METRICS[metric]
    for name, style in styles.items():
        points = sorted((r for r in rows if r["algorithm"] == name), key=lambda r: r["bytes"])
        if not points:
            continue
        # On a logarithmic axis an interval must not reach 0.
        errors = [min(r[interval], 0.95 * r[value]) for r in points] if interval else None
        axes.errorbar([max(r["bytes"], 1) for r in points], [r[value] for r in points], errors,
                      label=name, capsize=2.5, linewidth=1.6, markersize=4.5, elinewidth=1, **style)
    bound = {r["bytes"]: r["bound_us"] for r in rows}
    holds = bounded == "always" or (rows[0]["arrival"] == "balanced"
                                    and rows[0]["collective"] in EVERYBODY_WAITS)
    if holds and any(bound.values()):
        sizes = [size for size in sorted(bound) if bound[size] > 0]
        axes.plot([max(s, 1) for s in sizes], [bound[s] for s in sizes], "--", color="#777777",
                  linewidth=1.2, label="lower bound", zorder=1)


def styles_of(names):
    return {name: {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)],
                   "linestyle": ("-", "-.", ":")[i // len(COLOURS) % 3]}
            for i, name in enumerate(dict.fromkeys(names))}


def figure_of(count):
    """A figure of so many panels, at most three beside each other, and the panels."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(count, 3)
    lines = math.ceil(count / columns)
    pyplot.rcParams.update({"font.size": 9, "axes.titlesize": 9.5, "axes.spines.top": False,
                            "axes.spines.right": False, "figure.dpi": 150})
    figure, grid = pyplot.subplots(lines, columns, squeeze=False, sharey=True,
                                   figsize=(4.4 * columns + 0.6, 3.6 * lines + 0.9),
                                   layout="constrained")
    for axes in grid.flat:
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    for axes in list(grid.flat)[count:]:
        axes.set_visible(False)
    return figure, list(grid.flat)[:count]


def axis_of_sizes(axes, sizes):
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set(xlabel="bytes")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks_at(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(size_label))


def finish(figure, panels, ylabel, title, last, output):
    """Names the axes, puts one legend below, what begins with `last` at its end, and writes the
    file."""
    handles = {}
    for axes in panels:
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel(ylabel)
        handles.update(reversed(pair) for pair in zip(*axes.get_legend_handles_labels()))
    handles = dict(sorted(handles.items(), key=lambda item: item[0].startswith(last)))
    legend = figure.legend(handles.values(), handles.keys(), loc="lower center", frameon=False,
                           ncols=min(len(handles), 2 * min(len(panels), 3)))
    figure.suptitle(title, fontsize=10.5)
    # The panels take what the legend leaves.
    figure.canvas.draw()
    height = legend.get_window_extent().height / figure.bbox.height
    figure.get_layout_engine().set(rect=(0, height, 1, 1 - height))
    figure.savefig(output)


def plot(rows, metric, title, output):
    panels = {}
    for row in rows:
        panels.setdefault(panel_of(row), []).append(row)
    styles = styles_of(row["algorithm"] for row in rows)
    figure, grid = figure_of(len(panels))
    for axes, (panel, points) in zip(grid, panels.items()):
        draw(axes, points, metric, styles)
        axes.set(title=panel, yscale="log")
        axis_of_sizes(axes, [row["bytes"] for row in points])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    libraries = ", ".join(sorted({row.get("mpi_library", "") for row in rows} - {""}))
    finish(figure, grid, METRICS[metric][0], title or libraries, "lower bound", output)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="JSON lines; - for standard input")
    parser.add_argument("-o", "--output", default="papcoll-bench.png", metavar="FILE.png")
    parser.add_argument("--metric", choices=METRICS, default="mean")
    parser.add_argument("--algorithm", action="append", metavar="NAME",
                        help="draw only these (repeatable)")
    parser.add_argument("--title", help="instead of the MPI library's name")
    arguments = parser.parse_args()
    try:
        rows = read_rows(arguments.files, arguments.metric)
        if arguments.algorithm:
            rows = [row for row in rows if row["algorithm"] in arguments.algorithm]
            if not rows:
                raise BadInput(f"no row is of {' or '.join(arguments.algorithm)}")
        plot(rows, arguments.metric, arguments.title, arguments.output)
    except (BadInput, OSError, ValueError) as problem:
        print(f"plot.py: {problem}", file=sys.stderr)
        sys.exit(2)
    except ImportError as problem:
        print(f"plot.py: {problem}: install matplotlib 3.6 or newer (python3-matplotlib)",
              file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
