#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Copies over several paths and three-stage allreduces between GPUs, on the model of GPUs, beside
the figures that Temuçin et al., HOTI 2021, state. Runs device_model_bench and writes comparison.md
and comparison.png."""

import argparse
import json
import pathlib
import subprocess
import sys

PUBLISHED = [
    # what, published, how it is computed of ours, why they differ
    ("one way, ucx_perftest (Figure 5)", 1.67, "one_way", "the paper may overlap more of what an operation takes besides its bytes"),
    ("one way, OSU, window 1 (Figure 6)", 1.69, "one_way", "the same"),
    ("one way, OSU, window 64 (Figure 6)", 1.84, "one_way",
     "64 messages hide what each operation takes besides its bytes; and 134 GB/s is more than the "
     "125 GB/s that the paper's own single paths promise"),
    ("both ways, OSU, window 1 (Figure 7)", 1.38, "both_ways",
     "in the model each direction has links of its own up to the host; on the paper's machine both "
     "directions share the host's memory"),
    ("both ways, OSU, window 64 (Figure 7)", 1.33, "both_ways", "the same"),
    ("allreduce of 64 MB, over NCCL (Figure 8)", 1.25, "stages_64m",
     "the paper's peer is NCCL, ours the segmented ring in the same streams"),
    ("allreduce of 1 GB, over NCCL (Figure 8)", 1.38, "stages_1g", "the same"),
]


def parser():
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--bench", default="build/release/benchmarks/device_model_bench",
                      help="the program (default: %(default)s)")
    made.add_argument("--output", default="gpus", metavar="DIR", help="(default: %(default)s)")
    return made


def size_text(n):
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if n >= unit:
            return f"{n // unit} {name}"
    return f"{n} B"


def gains_of(rows):
    copies = [r for r in rows if r["what"] == "copy"]
    gains = {}
    for name, both in (("one_way", False), ("both_ways", True)):
        gains[name] = max(r["direct_us"] / r["two_paths_us"] for r in copies
                          if r["both_ways"] is both)
    times = {(r["within"], r["bytes"], r["schedule"]): r["us"] for r in rows
             if r["what"] == "allreduce"}
    within = max(r["within"] for r in rows if r["what"] == "allreduce")
    for name, n in (("stages_64m", 64 << 20), ("stages_1g", 1 << 30)):
        gains[name] = times[within, n, "SegmentedRing"] / times[within, n, "ThreeStage"]
    return gains


def page(rows):
    gains = gains_of(rows)
    lines = ["# GPUs, modelled", "",
             "By benchmarks/reproduce/gpus.py: the model of GPUs, virtual time. Four GPUs on two",
             "sockets: 72 GB/s between those of a socket, 53 GB/s more through its host, 28 GB/s each",
             "way between the sockets; an operation takes 10 µs besides its bytes. Nothing of it was",
             "run on GPUs.", "",
             "| published, Temuçin et al. 2021 | there | here | why they differ |",
             "| --- | ---: | ---: | --- |"]
    for what, there, ours, why in PUBLISHED:
        lines.append(f"| {what} | {there:.2f} | {gains[ours]:.2f} | {why} |")
    lines += ["", "## Copies over two paths", "",
              "| bytes | one path, GB/s | two | gain | both ways, gain | through the host | chunks |",
              "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    copies = [r for r in rows if r["what"] == "copy"]
    both = {r["bytes"]: r["direct_us"] / r["two_paths_us"] for r in copies if r["both_ways"]}
    for r in copies:
        if r["both_ways"]:
            continue
        n = r["bytes"]
        lines.append(f"| {size_text(n)} | {n / r['direct_us'] / 1e3:.1f} "
                     f"| {n / r['two_paths_us'] / 1e3:.1f} "
                     f"| {r['direct_us'] / r['two_paths_us']:.2f} | {both[n]:.2f} "
                     f"| {100 * r['by_host']:.0f} % | {r['chunks']} |")
    lines += ["", "The paper sends 25 to 30 % through the host, in 1 to 6 chunks, found by experiment.",
              ""]
    for within in sorted({r["within"] for r in rows if r["what"] == "allreduce"}):
        mine = [r for r in rows if r["what"] == "allreduce" and r["within"] == within]
        names = list(dict.fromkeys(r["schedule"] for r in mine))
        lines += [f"## Allreduce, {within / 1e9:.0f} GB/s within a socket", "",
                  "Times in µs, SegmentedRing and ThreeStage with their best segments; bound: the",
                  "vector once over the link between the sockets.", "",
                  "| bytes | " + " | ".join(names) + " | bound | ThreeStage over SegmentedRing |",
                  "| ---: |" + " ---: |" * (len(names) + 2)]
        for n in sorted({r["bytes"] for r in mine}):
            us = {r["schedule"]: r["us"] for r in mine if r["bytes"] == n}
            bound = next(r["bound_us"] for r in mine if r["bytes"] == n)
            cells = [f"{us[s]:.0f}" if s in us else "–" for s in names]
            gain = "–"
            if "ThreeStage" in us:
                gain = f"{us['SegmentedRing'] / us['ThreeStage']:.2f}"
            lines.append(f"| {size_text(n)} | {' | '.join(cells)} | {bound:.0f} | {gain} |")
        lines.append("")
    return "\n".join(lines)


def draw(rows, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4))
    copies = [r for r in rows if r["what"] == "copy" and not r["both_ways"]]
    sizes = [r["bytes"] for r in copies]
    for key, label in (("direct_us", "one path"), ("two_paths_us", "two paths")):
        left.plot(sizes, [r["bytes"] / r[key] / 1e3 for r in copies], marker="o", label=label)
    left.set(xscale="log", xlabel="bytes", ylabel="GB/s", title="copy between two GPUs, modelled")
    within = max(r["within"] for r in rows if r["what"] == "allreduce")
    mine = [r for r in rows if r["what"] == "allreduce" and r["within"] == within]
    for name in dict.fromkeys(r["schedule"] for r in mine):
        of_name = [r for r in mine if r["schedule"] == name]
        right.plot([r["bytes"] for r in of_name], [r["bytes"] / r["us"] / 1e3 for r in of_name],
                   marker="o", label=name)
    right.axhline(28, color="grey", linestyle=":", label="bound")
    right.set(xscale="log", xlabel="bytes", ylabel="GB/s of the vector",
              title="allreduce among 2 + 2 GPUs, modelled")
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    arguments = parser().parse_args()
    output = pathlib.Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    text = subprocess.run([arguments.bench], check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in text.splitlines()]
    (output / "rows.jsonl").write_text(text, encoding="utf-8")
    (output / "comparison.md").write_text(page(rows), encoding="utf-8")
    draw(rows, output / "comparison.png")
    print(f"{output}/comparison.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
