#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""reproduce.py PAPCOLL-BENCH LAUNCHER…: the scripts of benchmarks/reproduce, which are to leave
results, plots and a comparison, and to compute the gains right.

LAUNCHER… is the command that starts a program on as many ranks as its option -n says.
"""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

BENCH, *LAUNCHER = sys.argv[1:]
SCRIPTS = pathlib.Path("benchmarks/reproduce").resolve()
failures = []


def draws(python):
    return subprocess.run([python, "-c", "import matplotlib"], capture_output=True,
                          check=False).returncode == 0


# Debian's matplotlib belongs to Debian's Python, whatever python3 is first on the PATH.
PYTHON = next(filter(draws, [sys.executable, "/usr/bin/python3"]), None)


def run(script, directory, *arguments):
    return subprocess.run(
        ["timeout", "100", PYTHON or sys.executable, SCRIPTS / f"{script}.py", "--bench", BENCH,
         "--launcher", shlex.join(LAUNCHER), "--output", directory, "--ranks", "2", *arguments],
        capture_output=True, text=True, check=False)


def expect(condition, what, result):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}\n{result.args}\nexit {result.returncode}\n{result.stdout}"
              f"\n{result.stderr}\n")


def rows_of(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def leaves_all(script, directory, collectives, *arguments):
    """Runs it, and returns the rows of the imbalanced runs."""
    result = run(script, directory, "--quick", *arguments)
    expect(result.returncode == 0, f"success of {script}", result)
    if result.returncode != 0:
        return []
    text = (directory / "comparison.md").read_text(encoding="utf-8")
    rows = []
    for collective in collectives:
        balanced, imbalanced = sorted(directory.glob(f"{collective}-mif-*.json"))
        rows += rows_of(imbalanced)
        expect({row["arrival"] for row in rows_of(balanced)} == {"balanced"}
               and len(rows_of(balanced)) == len(rows_of(imbalanced)), f"rows of {script}", result)
        expect(f"## {collective}: every point" in text and " ▼" in text, "a comparison", result)
        for along in ("size", "mif") if PYTHON else ():
            picture = directory / f"{collective}-gain-over-{along}.png"
            expect(picture.exists() and picture.read_bytes().startswith(b"\x89PNG"),
                   f"{picture.name} of {script}", result)
    return rows


def test_small(directory):
    rows = leaves_all("small_allreduce", directory, ["allreduce"])
    expect(all(row["arrival"] == "uniform" and abs(row["mif"] - 20) < 1e-9 for row in rows),
           "uniform arrivals", run("small_allreduce", directory, "--help"))


def test_hierarchical(directory):
    rows = leaves_all("flat_against_hierarchical", directory, ["allreduce"], "--cluster", "groups",
                      "--nodes", "2")
    expect(all(row["group_size"] == 1 and row["arrival"].startswith("trace:") for row in rows),
           "groups, and one of them late", run("flat_against_hierarchical", directory, "--help"))


def test_gains(directory):
    """Made up results: 80 of the quickest reference, 100 of mpi, 60 of the thesis's algorithm."""
    times = {"mpi": 100, "StaticLeader": 80, "RecursiveDoubling": 90, "DynamicLeader": 60}
    file = directory / "allreduce-mif-20.json"
    rows = rows_of(file)
    for row in rows:
        row.update(mean_us=times.get(row["algorithm"], 160), ci95_us=0)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for options, reference, thesis, other in (
            ([], "StaticLeader | 80", "+25.0 %", "−100.0 % ▼"),
            (["--against", "mpi"], "mpi | 100", "+40.0 %", "−60.0 % ▼")):
        result = run("small_allreduce", directory, "--resume", "--mif", "20", *options)
        text = (directory / "comparison.md").read_text(encoding="utf-8")
        expect(result.returncode == 0 and "there already" in result.stdout, "--resume", result)
        for line in (f"| 20 | 1k | {reference} | {thesis} | {other} |",
                     "| 20 | max | 1–64k | Def-MVAPICH and shmem-MVAPICH | +56.0 % | 3: 4–64k | "
                     f"{thesis} at 4 |",
                     "| 20 | average | below 64k | the native algorithms | +22.0 % | 2: 4–1k | "
                     f"{thesis} |"):
            expect(line in text, f"'{line}' in\n{text}", result)


def test_bad_input(directory):
    for arguments in (["--mif", "x"], ["--mif", "-1"], ["--bytes", "8z"], ["--ranks", "1"],
                      ["--against", "Nobody"], ["--bench", "/nonexistent"], ["--time-limit", "0"],
                      ["--launcher", "/nonexistent"], ["--resume", "--mif", "20", "--ranks", "3"]):
        result = run("small_allreduce", directory, *arguments)
        expect(result.returncode == 2 and "Traceback" not in result.stderr and result.stderr,
               f"exit status 2 for {arguments}", result)
    result = run("flat_against_hierarchical", directory, "--nodes", "3")
    expect(result.returncode == 2 and "2 ranks" in result.stderr, "ranks that divide", result)
    result = run("small_allreduce", directory, "--quick", "--bench-options=--nonsense")
    expect(result.returncode == 1 and "--nonsense" in result.stderr
           and rows_of(directory / "allreduce-mif-0.json"),
           "what papcoll-bench refuses leaves earlier results alone", result)


def test_published():
    whole = json.loads((SCRIPTS / "published.json").read_text(encoding="utf-8"))
    for study in ("small_allreduce", "large_messages", "flat_against_hierarchical"):
        for point in whole[study]["points"]:
            good = (point["statistic"] in ("average", "max", "min") and -1 < point["gain"] < 1
                    and ("section" in point["source"] or "Table" in point["source"])
                    and point.keys() == whole[study]["points"][0].keys())
            if not good:
                failures.append(str(point))
                print(f"FAILED: {point}")


with tempfile.TemporaryDirectory() as name:
    scratch = pathlib.Path(name)
    test_published()
    test_small(scratch / "small")
    if not failures:
        test_gains(scratch / "small")
        test_bad_input(scratch / "small")
    test_hierarchical(scratch / "hierarchical")
    leaves_all("large_messages", scratch / "large", ["reduce", "allreduce"])
if failures:
    sys.exit(1)
if PYTHON is None:
    print("SKIPPED: no matplotlib: results and comparisons are right, but nothing was drawn")
    sys.exit(77)
