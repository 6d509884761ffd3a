#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unmodified_programs.py --tools DIRECTORY [--pairs N] [--output FILE]: time that programs spend in
collectives, plain and under papcoll-run, by turns; on a quiet machine, and with one core busy.

The programs are Debian's: LAMMPS' melt (packages lammps) and conjugate gradients by PETSc
(python3-petsc4py), which mostly reduces 8 bytes. papcoll-profile records both kinds of run. For each
case it prints the mean of a rank's time and its 95 % confidence interval, and of the pairs' ratios."""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CG = """import glob, sys
sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc
n = 64  # points of the grid in each direction
A = PETSc.Mat().createAIJ([n * n, n * n], nnz=5)
for i in range(*A.getOwnershipRange()):
    for j, inside in ((i - 1, i % n > 0), (i + 1, i % n < n - 1), (i - n, i >= n),
                      (i + n, i < n * n - n)):
        if inside:
            A[i, j] = -1
    A[i, i] = 4
A.assemble()
b = A.createVecLeft()
b.set(1)
x = b.duplicate()
solver = PETSc.KSP().create()
solver.setOperators(A)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-10)
for _ in range(100):
    x.set(0)
    solver.solve(b, x)
"""

# Two-sided 95 % quantiles of Student's t by degrees of freedom.
STUDENT = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 14: 2.145,
           19: 2.093, 29: 2.045}


def with_interval(values):
    mean = statistics.mean(values)
    t = STUDENT.get(len(values) - 1, 2.0)
    return mean, t * statistics.stdev(values) / math.sqrt(len(values))


def in_collectives(options, directory, program, preloaded):
    """Seconds of a rank, of one run."""
    trace = directory / "trace"
    words = [str(options.tools / "interpose" / "papcoll-profile"), "--output", str(trace)]
    if preloaded:
        words.append(str(options.tools / "preload" / "papcoll-run"))
    words += [options.launcher, "--allow-run-as-root", "--bind-to", "core", "-n", "2", *program]
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    report = directory / "report.json"
    subprocess.run([str(options.report), "report", str(trace), f"--json={report}"], check=True,
                   stdout=subprocess.DEVNULL)
    return sum(row["time_per_rank"] for row in json.loads(report.read_text())["totals"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True,
                        help="of the build directory: interpose/papcoll-profile and so on are in it")
    parser.add_argument("--report", type=pathlib.Path, help="papcoll (default: beside --tools)")
    parser.add_argument("--launcher", default="mpirun.openmpi")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--output", type=pathlib.Path, help="all times, as JSON")
    options = parser.parse_args()
    options.tools = options.tools.resolve()
    if options.report is None:
        options.report = next(p for p in options.tools.rglob("papcoll")
                              if p.is_file() and os.access(p, os.X_OK))
    kept = {}
    with tempfile.TemporaryDirectory(prefix="papcoll-programs-") as name:
        directory = pathlib.Path(name)
        (directory / "cg.py").write_text(CG)
        programs = {"LAMMPS melt": ["lmp", "-in", str(HERE / "melt.in"), "-log", "none"],
                    "PETSc CG": ["/usr/bin/python3", "cg.py"]}
        print("| program | machine | plain, ms | preloaded, ms | preloaded/plain |")
        print("|---|---|---|---|---|")
        for label, program in programs.items():
            for machine in ("quiet", "one core busy"):
                busy = None
                if machine != "quiet":
                    busy = subprocess.Popen(["taskset", "-c", "0", "sh", "-c",
                                             "while :; do :; done"])
                times = {False: [], True: []}
                try:
                    in_collectives(options, directory, program, True)  # warms what files there are
                    for i in range(options.pairs):
                        for preloaded in ((False, True), (True, False))[i % 2]:
                            times[preloaded].append(
                                in_collectives(options, directory, program, preloaded))
                finally:
                    if busy is not None:
                        busy.kill()
                        busy.wait()
                kept[f"{label}, {machine}"] = times
                cells = [f"{1e3 * m:.1f} ± {1e3 * d:.1f}"
                         for m, d in (with_interval(times[False]), with_interval(times[True]))]
                ratio, d = with_interval([b / a for a, b in zip(times[False], times[True])])
                print(f"| {label} | {machine} | {cells[0]} | {cells[1]} | {ratio:.2f} ± {d:.2f} |",
                      flush=True)
    if options.output:
        options.output.write_text(json.dumps({k: {"plain": t[False], "preloaded": t[True]}
                                              for k, t in kept.items()}, indent=1))


if __name__ == "__main__":
    main()
