#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""arrival_patterns.py --build BUILD DIR: how the ranks of real programs arrive, as chapter 3 of the
thesis asked of Horovod.

Records LAMMPS (a melt of Lennard-Jones atoms), HPCC and the training example ddp_digits with
papcoll-profile, and makes a synthetic trace after the published figures of Horovod, see
horovod_trace.py. DIR gets for each of them a report (report.txt, report.json), the figures 3.1 to 3.13
as PNG, and comparison.md: the thesis's tables 3.1 to 3.4 and the shares of its figures 3.1 to 3.8, of
these programs beside the published ones. What is not installed is left out, and said.

Source: P. Alizadeh, Efficient Process Arrival Pattern Aware Collective Communication for HPC and
Deep Learning, MASc thesis, Queen's University, 2021, chapter 3.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RANGES = ("small", "medium", "large")
HPCC_EXAMPLE = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")


class Missing(Exception):
    """Why a program cannot be recorded here."""


def lammps(directory, options):
    program = shutil.which("lmp")
    if program is None:
        raise Missing("there is no lmp (Debian's package lammps)")
    return [program, "-in", str(HERE.parent / "preload" / "melt.in"), "-log", "none", "-var", "every", "5",
            "-var", "steps", "500" if options.quick else "3000"]


def hpcc(directory, _):
    program = shutil.which("hpcc")
    if program is None or not HPCC_EXAMPLE.exists():
        raise Missing("there is no hpcc with its example input (Debian's package hpcc)")
    lines = HPCC_EXAMPLE.read_text(encoding="utf-8").splitlines()
    lines[10], lines[11] = "2 Ps", "2 Qs"
    (directory / "hpccinf.txt").write_text("\n".join(lines) + "\n")
    return [program]


def training(_, options):
    program = options.build / "examples" / "ddp_digits"
    if not program.exists():
        raise Missing(f"there is no {program}")
    return [str(program), "--allreduce", "mpi", "--arrival", "balanced",
            "--epochs", "2" if options.quick else "12"]


RECORDED = {"LAMMPS": lammps, "HPCC": hpcc, "ddp_digits": training}


def run(command, directory, file):
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    (directory / file).write_text(done.stdout, encoding="utf-8")
    if done.returncode != 0:
        raise Missing(f"{shlex.join(map(str, command))} ended with {done.returncode}, see "
                      f"{directory / file}")


def recorded(name, directory, options):
    """Runs a program under papcoll-profile."""
    directory.mkdir(parents=True, exist_ok=True)
    program = RECORDED[name](directory, options)
    run([options.build / "tools/interpose/papcoll-profile", "--no-report", "--output", "traces",
         *shlex.split(options.launcher), "-n", "4", *program], directory, "output.txt")
    return directory / "traces"


def synthetic(directory, options):
    directory.mkdir(parents=True, exist_ok=True)
    run([sys.executable, HERE / "horovod_trace.py", "traces",
         "--calls", "500" if options.quick else "3000"], directory, "output.txt")
    return directory / "traces"


def reported(traces, options):
    """The report of traces, with its figures beside it."""
    directory = traces.parent
    run([options.build / "tools/papcoll", "report", traces, f"--json={directory / 'report.json'}"],
        directory, "report.txt")
    run([sys.executable, HERE.parents[1] / "tools/papcoll-figures", directory / "report.json",
         "--collective", "MPI_Allreduce"], directory, "figures.txt")
    return json.loads((directory / "report.json").read_text(encoding="utf-8"))


def percent(part, whole):
    return round(100 * part / whole, 1) if whole else None


def point_of(name, report):
    """The same facts of a report as published.json has of a job of the thesis."""
    totals = report["totals"]
    ours = [t for t in totals if t["collective"] == "MPI_Allreduce"]

    def by_size(key):
        return {r: percent(sum(t[key] for t in ours if t["size"] == r), sum(t[key] for t in ours))
                for r in RANGES}

    rows = {i["size"]: i for i in report["imbalance"] if i["collective"] == "MPI_Allreduce"}

    def factors(where):
        found = {r: (rows[r][f"{where}omega_factor_mean"], rows[r][f"{where}delta_factor_mean"])
                 if r in rows else None for r in RANGES}
        calls = sum(r["calls"] for r in rows.values())
        all_sizes = tuple(sum(found[r][k] * rows[r]["calls"] for r in rows) / calls
                          for k in (0, 1)) if calls else None
        return {"all": all_sizes, **found}

    return {"job": f"{name}, {report['world_size']} ranks",
            "allreduce_calls": percent(sum(t["calls"] for t in ours),
                                       sum(t["calls"] for t in totals)),
            "allreduce_time": percent(sum(t["time"] for t in ours), sum(t["time"] for t in totals)),
            "calls_by_size": by_size("calls"), "time_by_size": by_size("time"),
            "factors": factors(""), "node_factors": factors("node_")}


def shown(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def pair(value):
    return "–" if value is None else f"{shown(value[0])} / {shown(value[1])}"


def table_of(points):
    """Markdown: a row a job."""
    lines = ["| job | allreduce: % of calls | % of time | calls small / medium / large | "
             "time small / medium / large |", "| --- | --- | --- | --- | --- |"]
    for p in points:
        sizes = [" / ".join(shown(p[k][r]) for r in RANGES) for k in ("calls_by_size",
                                                                     "time_by_size")]
        lines.append(f"| {p['job']} | {shown(p['allreduce_calls'])} | "
                     f"{shown(p['allreduce_time'])} | {sizes[0]} | {sizes[1]} |")
    for key, title in (("factors", "Cluster-wide (tables 3.1, 3.2): means of Ω/α and Δ̄/α"),
                       ("node_factors", "Node-wide (tables 3.3, 3.4)")):
        lines += ["", title + ":", "", "| job | all | small | medium | large |",
                  "| --- | --- | --- | --- | --- |"]
        lines += [f"| {p['job']} | " + " | ".join(pair(p[key][r]) for r in ("all", *RANGES)) + " |"
                  for p in points]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, required=True,
                        help="a build of papcoll with tools and examples, for Open MPI")
    parser.add_argument("--launcher", default="mpirun.openmpi --oversubscribe --bind-to none "
                        "--mca mpi_yield_when_idle 1", help="without the number of ranks")
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.directory.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")

    points, left_out, named = [], [], []
    for name in (*RECORDED, "Horovod (synthetic)"):
        directory = options.directory.resolve() / name.split()[0].lower()
        print(f"{name} …", flush=True)
        try:
            traces = (recorded(name, directory, options) if name in RECORDED
                      else synthetic(directory, options))
            report = reported(traces, options)
        except Missing as e:
            left_out.append(f"{name}: {e}")
            print(f"  left out: {e}")
            continue
        points.append(point_of(name, report))
        named += [f"{name}: {f['text']}" for f in report["findings"] if f["kind"] == "straggler"]
    if not points:
        print("nothing could be recorded", file=sys.stderr)
        return 1
    published = json.loads((HERE / "published.json").read_text(encoding="utf-8"))
    published = published["arrival_patterns"]["points"]
    lines = ["# How the ranks of programs arrive", "",
             f"Recorded by papcoll-profile: 4 ranks on one machine of {os.cpu_count()} processors"
             + (", so oversubscribed." if (os.cpu_count() or 0) < 4 else ".")
             + " Below them, what the thesis publishes of Horovod on three clusters. Small messages "
             "are of up to 1 KB, medium ones of up to 1 MB. –: none, or not stated.", ""]
    lines += table_of([*points, *published])
    lines += ["", "Ranks that the reports name:", "",
              *(f"- {n}" for n in (named or ["none"]))]
    lines += [f"- left out: {text}" for text in left_out]
    (options.directory / "comparison.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(options.directory / "comparison.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
