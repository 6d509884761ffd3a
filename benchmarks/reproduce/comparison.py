# SPDX-License-Identifier: BSD-3-Clause
"""Gains: computed from the rows of papcoll-bench, written beside the published ones, drawn.

The gain of a candidate is 1 - T/T_ref. T is the time in the call, averaged over the ranks; T_ref is
that of the quickest reference at the same collective, maximum imbalance factor (MIF) and size."""

import dataclasses
import importlib
import json
import math
import pathlib
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

plot = importlib.import_module("plot")

LOWEST_DRAWN = -1.0
EXPLANATION = """Its numbers are those that text or tables state; none is read off a plot.

The gain is 1 − T/T_ref, T_ref the time of the quickest reference at that point; ± is half of the
95 % confidence interval; ▼ marks what loses. Machines, libraries and numbers of ranks differ from
the published ones: what can be compared is who wins, where, and about by how much."""


@dataclasses.dataclass(frozen=True)
class Gain:
    """A candidate beside the quickest reference."""
    collective: str
    mif: float
    bytes: int
    algorithm: str
    gain: float
    error: float  # half of the 95 % confidence interval; 0 if it is not known
    reference: str
    reference_us: float


def gains_of(rows, mif, metric, references):
    """Of the rows of one run."""
    _, value, interval, _ = plot.METRICS[metric]
    gains = []
    for size in sorted({row["bytes"] for row in rows}):
        of_size = {row["algorithm"]: row for row in rows if row["bytes"] == size}
        reference = min((of_size[name] for name in references), key=lambda row: row[value])
        for name, row in of_size.items():
            part = row[value] / reference[value]
            error = 0.0
            if interval and row is not reference:
                error = part * math.hypot(row[interval] / row[value],
                                          reference[interval] / reference[value])
            gains.append(Gain(row["collective"], mif, size, name, 1 - part, error,
                              reference["algorithm"], reference[value]))
    return gains


class Published:
    """What published.json has of a study."""

    def __init__(self, study):
        with open(HERE / "published.json", encoding="utf-8") as file:
            whole = json.load(file)
        self.source = whole["source"]
        self.points = whole[study]["points"]
        self.remarks = whole[study]["remarks"]

    def nearest(self, collective, ranks):
        """Those of the numbers of ranks that are nearest to ours, in proportion."""
        def distance(point):
            return round(abs(math.log2(point["ranks"] / ranks)), 6)

        points = [point for point in self.points if point["collective"] == collective]
        least = min(map(distance, points))
        return [point for point in points if distance(point) == least]


def is_about(point, mif):
    """A published gain without an imbalance factor is about all imbalanced arrivals."""
    return mif == point["mif"] if point["mif"] is not None else mif > 0


def comparable(point, gains):
    first, last = point["sizes"] or (0, math.inf)
    return [gain for gain in gains
            if is_about(point, gain.mif) and first <= gain.bytes <= last]


def percent(part):
    return f"{100 * part:+.1f} %".replace("-", "−")


def sizes_text(sizes):
    return "–".join(map(plot.size_label, dict.fromkeys(sizes)))


def published_sizes(point):
    """65535 says 'below 64 KB'."""
    if point["sizes"] is None:
        return "not stated"
    first, last = point["sizes"]
    return sizes_text([first, last]) if last % 2 == 0 else f"below {plot.size_label(last + 1)}"


def statistic_of(gains, statistic):
    """In words; gains are those of one candidate and one MIF."""
    if not gains:
        return "not measured"
    if statistic == "average":
        return percent(sum(gain.gain for gain in gains) / len(gains))
    found = (max if statistic == "max" else min)(gains, key=lambda gain: gain.gain)
    return f"{percent(found.gain)} at {plot.size_label(found.bytes)}"


def table(head, lines):
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def published_table(points, gains, names):
    lines = []
    for point in points:
        about = comparable(point, gains)
        for mif in sorted({gain.mif for gain in about}) or [point["mif"]]:
            here = [gain for gain in about if gain.mif == mif]
            measured = sorted({gain.bytes for gain in here})
            where = f" at {plot.size_label(point['at'])}" if point["at"] else ""
            lines.append([
                f"{point['platform']}, {point['ranks']} ranks: {point['source']}",
                f"{mif:g}" if point["mif"] is not None else f"not stated; here {mif or '-'}",
                point["statistic"], published_sizes(point), point["over"],
                percent(point["gain"]) + where,
                f"{len(measured)}: {sizes_text([measured[0], measured[-1]])}" if here else "none",
                *(statistic_of([gain for gain in here if gain.algorithm == name],
                               point["statistic"]) for name in names)])
    return table(["published", "MIF", "statistic", "sizes", "over", "published gain",
                  "sizes measured", *names], lines)


def losses_table(gains, names):
    lines = []
    for name in names:
        own = [gain for gain in gains if gain.algorithm == name]
        lost = {}
        for gain in own:
            if gain.gain < 0:
                lost.setdefault(gain.mif, []).append(plot.size_label(gain.bytes))
        lines.append([name, len(own), sum(map(len, lost.values())),
                      "; ".join(f"MIF {mif:g}: {', '.join(sizes)}"
                                for mif, sizes in sorted(lost.items())) or "nowhere"])
    return table(["candidate", "points", "of these lost", "where"], lines)


def points_table(gains, names):
    by_point = {}
    for gain in gains:
        by_point.setdefault((gain.mif, gain.bytes), {})[gain.algorithm] = gain
    lines = []
    for (mif, size), of_point in sorted(by_point.items()):
        cells = []
        for gain in (of_point[name] for name in names):
            error = f" ± {100 * gain.error:.1f}" if gain.error else ""
            cells.append(percent(gain.gain) + error + (" ▼" if gain.gain < 0 else ""))
        one = of_point[names[0]]
        lines.append([f"{mif:g}", plot.size_label(size), one.reference,
                      f"{one.reference_us:.4g}", *cells])
    return table(["MIF", "bytes", "quickest reference", "its time [µs]", *names], lines)


def write(output, title, measured, published, gains, names_of, ranks):
    """The comparison in Markdown. `measured`: what was measured, a line each; `names_of`: the
    candidates of each collective, references apart."""
    text = [f"# {title}: published and measured",
            "\n".join(f"- {line}" for line in measured),
            f"Published: {published.source}. {EXPLANATION}"]
    for collective, names in names_of.items():
        own = [gain for gain in gains if gain.collective == collective]
        text += [f"## {collective}: the published gains with the nearest number of ranks",
                 published_table(published.nearest(collective, ranks), own, names),
                 f"## {collective}: where candidates lose", losses_table(own, names),
                 f"## {collective}: every point", points_table(own, names)]
    text += ["## Published without a number to compare",
             "\n".join(f"- {remark}" for remark in published.remarks)]
    output.write_text("\n\n".join(text) + "\n", encoding="utf-8")


def draw_line(axes, xs, gains, label, style):
    """What lies below the lowest that is drawn, has a hollow mark there."""
    shown = [gain.gain >= LOWEST_DRAWN for gain in gains]
    axes.errorbar(xs, [100 * max(gain.gain, LOWEST_DRAWN) for gain in gains],
                  [100 * gain.error * inside for gain, inside in zip(gains, shown)],
                  label=label, capsize=2.5, linewidth=1.6, markersize=4.5, elinewidth=0.8, **style)
    below = [x for x, inside in zip(xs, shown) if not inside]
    axes.plot(below, [100 * LOWEST_DRAWN] * len(below), linestyle="none", marker=style["marker"],
              markersize=6, markerfacecolor="white", color=style["color"], zorder=3)


def draw_published(axes, points):
    """A mark where the size is known, else a line along the sizes that the number is about."""
    for point in points:
        label = f"published {point['statistic']}, {point['ranks']} ranks"
        height = 100 * point["gain"]
        if point["at"]:
            axes.plot(point["at"], height, "k^" if point["statistic"] == "max" else "kv",
                      markersize=7, fillstyle="none", label=label)
        else:
            axes.hlines(height, *(point["sizes"] or axes.get_xlim()), linewidth=1, color="black",
                        linestyles="dashed" if point["statistic"] == "average" else "dotted",
                        label=label)


def draw(gains, names, along, published_points, title, output):
    """A panel a MIF with sizes along it, or a panel a size with MIFs along it."""
    across = "mif" if along == "bytes" else "bytes"
    panels = sorted({getattr(gain, across) for gain in gains})
    if along == "mif":  # as many as can be read
        panels = panels[::math.ceil(len(panels) / 6)]
    figure, grid = plot.figure_of(len(panels))
    styles = plot.styles_of(names)
    for axes, panel in zip(grid, panels):
        here = [gain for gain in gains if getattr(gain, across) == panel]
        for name in names:
            line = sorted((gain for gain in here if gain.algorithm == name),
                          key=lambda gain: getattr(gain, along))
            draw_line(axes, [getattr(gain, along) for gain in line], line, name, styles[name])
        axes.axhline(0, color="#777777", linewidth=1)
        axes.set_ylim(100 * LOWEST_DRAWN - 10, 105)
        if along == "bytes":
            sizes = [gain.bytes for gain in here]
            axes.set_title(f"MIF {panel:g}" if panel else "balanced")
            plot.axis_of_sizes(axes, sizes)
            axes.set(xlim=(min(sizes) / 1.5, max(sizes) * 1.5), autoscalex_on=False)
            draw_published(axes, [point for point in published_points if is_about(point, panel)])
        else:
            axes.set(title=f"{plot.size_label(panel)} bytes", xlabel="MIF")
    title = "\n".join(textwrap.wrap(title, 56 * min(len(panels), 3)))
    plot.finish(figure, grid, "gain 1 − T/T_ref [%]; hollow: lower", title, "published", output)


def draw_all(directory, title, published, gains, names_of, ranks):
    for collective, names in names_of.items():
        title_here = f"{collective}: {title}"
        own = [gain for gain in gains if gain.collective == collective]
        draw(own, names, "bytes", published.nearest(collective, ranks), title_here,
             directory / f"{collective}-gain-over-size.png")
        if len({gain.mif for gain in own}) > 1:
            draw(own, names, "mif", [], title_here,
                 directory / f"{collective}-gain-over-mif.png")
