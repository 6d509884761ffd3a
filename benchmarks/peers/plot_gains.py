#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""plot_gains.py COMPARISON.json OUTPUT.png: papcoll's gain over the best MPI library at each point,
a panel for each collective, number of ranks and pattern."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import plot  # noqa: E402  pylint: disable=wrong-import-position

STROKES = {"near": "-", "apart": "--"}


def panel_of(point):
    binding = "pinned" if point["pinned"] else "not pinned"
    return f"{point['call']}, {point['ranks']} ranks, {binding}, {point['arrival']}"


def draw(axes, points, colours):
    for kind, style in colours.items():
        for where in sorted({p["neighbourhood"] for p in points}, reverse=True):
            line = [p for p in points if (p["buffers"], p["neighbourhood"]) == (kind, where)]
            if line:
                axes.plot([p["bytes"] for p in line], [p["gain"] for p in line],
                          **{**style, "linestyle": STROKES.get(where, ":")},
                          label=f"{kind}, {where}", markersize=4, linewidth=1.5)
    axes.axhline(1, color="#333333", linewidth=1.1, zorder=1)


def main():
    comparison, output = sys.argv[1:]
    with open(comparison, encoding="utf-8") as file:
        points = [p for p in json.load(file)["points"] if p["bytes"] > 0]  # no barriers
    panels = {}
    for point in points:
        panels.setdefault(panel_of(point), []).append(point)
    colours = plot.styles_of(p["buffers"] for p in points)
    figure, grid = plot.figure_of(len(panels))
    for axes, (panel, inside) in zip(grid, panels.items()):
        draw(axes, inside, colours)
        axes.set(title=panel, yscale="log")
        plot.axis_of_sizes(axes, [p["bytes"] for p in inside])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if value in (2, 5) else "")
    plot.finish(figure, grid, "gain over the best MPI library", "below 1 papcoll loses",
                "none", output)


if __name__ == "__main__":
    try:
        main()
    except ImportError as problem:
        print(f"plot_gains.py: {problem}", file=sys.stderr)
        sys.exit(2)
