#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SUARA's choice beside all that it chooses from: every pair of its six algorithms on every grid of
P ranks, with gaps and folded, and the six without a grid, by papcoll's own simulator with shared
ports, contention-free, with the paper's costs. No SMPI is needed: `suara_exhaustive_bench` does it,
a process a size. Leaves results.json and comparison.md."""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

import simulated_report as report
import simulated_study as study

RANKS = (16, 36, 64, 128, 256, 509, 1024)
SIZES = (1 << 16, 1 << 20, 4 << 20, 16 << 20)
RING = "SegmentedRing:8192"  # the paper's reference above 1 MB, with its segments
PUBLISHED = 1.6
NEAR = 1.05
HOW = """Simulated by `papcoll::simulate` with `Ports::shared`: 1.5 µs a message, 16 GB/s a port, whose
messages under way share it, 0.2 ns a byte combined, nobody else on the network; elements of 4 bytes.
*Chosen* is what `choose_suara()` finds by its closed forms with these costs.

**All**: each of linear, nonoverlapping (reduce and bcast each binomial or scattered), recursive
doubling, ring, ring with segments of 8 KB and Rabenseifner along each dimension, of every grid of
2 to P − 1 rows: those without gaps, and the others with rows that differ in length and with folded
ranks. **Simulated as a whole**: the flat ones, the choice, and every grid that the following leaves
open. **Bounded**: a grid cannot be quicker than its longest lines one after the other, which are
simulated alone, as grids of one row; and segmented rings in both dimensions, whose blocks overlap, by
their closed form. A line whose closed form rules the grid out is not simulated either. From the
lowest bound on, grids were simulated until the bound, less a margin, was not below the best: 2 %
without gaps, 5 % with, 8 % for segmented rings, 20 % for the closed forms of lines."""
WHY = """The published 1.6–2.65 are over Open MPI's choice, which above 1 MB is a ring with segmentation,
whatever P is. A flat ring waits for 2(P − 1) messages and a grid of rings for about 4√P, so that over
that ring its gains are like the published ones or larger where n/P is small. Where n/P is large, bytes
and combining count: the second dimension moves and combines the whole vector once more, and the flat
ring is better. Over the best flat schedule little of that remains. Rabenseifner waits for 2 log₂ P
messages and, where P is a power of two, moves no more bytes than a ring: no grid is better there. Where
P is none, folding costs Rabenseifner half of its time again or more, and SUARA gains; the paper's P
are powers of two."""


def measure(arguments):
    """Rows by (ranks, bytes, dimensions)."""
    file = pathlib.Path(arguments.output) / "results.json"
    rows = {}
    if arguments.resume and file.exists():
        rows = {key_of(row): row for row in json.loads(file.read_text(encoding="utf-8"))}
    for size in arguments.bytes:
        missing = [p for p in arguments.ranks if (p, size, arguments.dimensions) not in rows]
        if not missing:
            continue
        command = [arguments.program, str(size), str(arguments.dimensions), *map(str, missing)]
        print(*command, file=sys.stderr, flush=True)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                row = json.loads(line)
                rows[key_of(row)] = row
                save(file, rows)
        if process.returncode != 0:
            sys.exit(f"{arguments.program} ended with status {process.returncode}")
    return [rows[key] for key in sorted(rows)]


def key_of(row):
    return (row["ranks"], row["bytes"], row["dimensions"])


def save(file, rows):
    text = ",\n".join(json.dumps(rows[key]) for key in sorted(rows))
    file.write_text(f"[\n{text}\n]\n", encoding="utf-8")


def quickest(times):
    return min(times.items(), key=lambda item: item[1])


class Point:
    def __init__(self, row):
        self.row = row
        self.flat = quickest(row["flat"])
        self.best = quickest({**row["quickest"], **row["flat"]})
        self.chosen = (row["chosen"]["name"], row["chosen"]["seconds"])
        self.miss = self.chosen[1] / self.best[1]
        self.over_flat = self.flat[1] / self.chosen[1]
        self.over_ring = row["flat"][RING] / self.chosen[1]
        self.rings = row["flat"][RING] / row["rings"]["seconds"]
        self.a_rank = row["bytes"] / row["ranks"] / 1024

    def line(self):
        def cell(timed):
            return timed[0].replace("ReduceThenBcast", "RTB"), f"{timed[1] * 1e6:.1f}"
        row = self.row
        return [row["ranks"], report.in_words(row["bytes"]), f"{self.a_rank:.3g}", *cell(self.flat),
                *cell(self.best), *cell(self.chosen), f"{self.miss:.3f}", f"{self.over_flat:.2f}",
                f"{self.over_ring:.2f}", f"{self.rings:.2f}", row["grids"], row["simulated"]]


HEAD = ["P", "size", "n/P KB", "best flat", "µs", "best of all", "µs", "chosen", "µs",
        "chosen / best", "gain over best flat", "gain over segmented ring",
        "of ring × ring over segmented ring", "pairs and grids", "of these simulated"]


def region(points):
    """Where the published gain holds, in words."""
    reached = [p for p in points if p.rings >= PUBLISHED]
    others = [p for p in points if p.rings < PUBLISHED]
    lines = [f"The published pairs, a ring along both dimensions, gain {PUBLISHED} or more over the "
             f"flat segmented ring at {len(reached)} of {len(points)} points"]
    if reached:
        lines.append(f", with n/P of {max(p.a_rank for p in reached):.3g} KB or less")
    if others:
        lines.append(f"; where they do not, n/P is {min(p.a_rank for p in others):.3g} KB or more")
    over_flat = [p for p in points if p.over_flat >= PUBLISHED]
    best = max(points, key=lambda p: p.over_flat)
    lines.append(f". Over the best flat schedule SUARA reaches that at {len(over_flat)} points: "
                 f"its largest gain is {best.over_flat:.2f}, {best.row['ranks']} ranks, "
                 f"{report.in_words(best.row['bytes'])}")
    return "".join(lines) + ".\n"


def ratios(rows):
    """How the bounds did: the least of simulations over bounds."""
    text = []
    for key, what in (("full_least", "grids without gaps"), ("gaps_least", "with gaps or folded"),
                      ("rings_least", "segmented rings in both dimensions, over the closed form"),
                      ("lines_least", "lines, over their closed form")):
        values = [row[key] for row in rows if row[key] is not None]
        if values:
            text.append(f"{what} {min(values):.3f}")
    return ("A simulation over its bound was, at the least: " + "; ".join(text) + ".") if text else ""


def compare(rows):
    text = ["# SUARA's choice beside all pairs and grids\n", HOW, ratios(rows) + "\n"]
    for dimensions in sorted({row["dimensions"] for row in rows}):
        points = [Point(row) for row in rows if row["dimensions"] == dimensions]
        near = sum(p.miss <= NEAR for p in points)
        worst = max(points, key=lambda p: p.miss)
        gains = [p.over_flat for p in points]
        text += [f"## Up to {dimensions} dimensions\n",
                 f"The choice is within 5 % of the best at {near} of {len(points)} points; at worst "
                 f"{100 * (worst.miss - 1):.1f} % slower ({worst.row['ranks']} ranks, "
                 f"{report.in_words(worst.row['bytes'])}). Over the best flat schedule it gains "
                 f"{min(gains):.2f} to {max(gains):.2f}, {statistics.geometric_mean(gains):.2f} in "
                 "the geometric mean.\n", region(points),
                 report.table(HEAD, [p.line() for p in points])]
    text.append(WHY + "\n")
    text.append("RTB: ReduceThenBcast, the nonoverlapping one. `8x64`: rows of 8 in 64 rows; where "
                "P is not their product, rows differ in length. Ring × ring, with or without\nsegments, "
                "is on the best grid for it by the closed forms, which may be one row.\n")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="suara_exhaustive_bench", metavar="FILE")
    parser.add_argument("--output", required=True, metavar="DIR", help="made if it is not there")
    parser.add_argument("--ranks", metavar="P,P…", type=study.rank_counts, default=RANKS)
    parser.add_argument("--bytes", metavar="BYTES,BYTES…", type=study.byte_counts, default=SIZES)
    parser.add_argument("--dimensions", type=int, choices=(2, 3), default=2,
                        help="at most; 3 takes long for many ranks")
    parser.add_argument("--resume", action="store_true", help="keep the rows that DIR has")
    arguments = parser.parse_args()
    if shutil.which(arguments.program) is None:
        parser.exit(2, f"--program {arguments.program}: there is no such program: build one with "
                       "`cmake --preset release && cmake --build build/release --target "
                       "suara_exhaustive_bench`\n")
    output = pathlib.Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    rows = measure(arguments)
    (output / "comparison.md").write_text(compare(rows), encoding="utf-8")
    print(output / "comparison.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
