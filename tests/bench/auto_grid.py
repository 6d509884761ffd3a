#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""auto_grid.py PAPCOLL-BENCH LAUNCHER…: benchmarks/auto_grid.py, which is to find the best of each
point and what auto loses to it.

LAUNCHER… is the command that starts a program on as many ranks as its option -n says.
"""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

BENCH, *LAUNCHER = sys.argv[1:]
SCRIPT = pathlib.Path("benchmarks/auto_grid.py").resolve()
failures = []


def run(directory, *arguments):
    return subprocess.run(
        ["timeout", "100", sys.executable, SCRIPT, "--bench", BENCH, "--launcher",
         shlex.join([*LAUNCHER, "-n", "2"]), "--output", directory, "--bytes", "8,64k",
         "--patterns", "balanced,one-late", "--algorithms", "DynamicLeader,Exchange",
         "--bench-options=--iterations 40 --warmup 1", *arguments],
        capture_output=True, text=True, check=False)


def expect(condition, what, result):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}\n{result.args}\nexit {result.returncode}\n{result.stdout}"
              f"\n{result.stderr}\n")


with tempfile.TemporaryDirectory() as name:
    scratch = pathlib.Path(name)
    result = run(scratch, "--mif", "0.5")
    expect(result.returncode == 0 and "## allreduce, one-late" in result.stdout, "a grid", result)

    times = {"auto": 12, "DynamicLeader": 10, "Exchange": 20}
    for file in scratch.glob("*.json"):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            row["median_us"] = row["tail_median_us"] = times[row["algorithm"]]
            row["median_ci95_us"] = row["tail_median_ci95_us"] = 1.5 if row["algorithm"] == "auto" else 0
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = run(scratch, "--resume")
    for line in (" | 12 | DynamicLeader | 10 | 1.20 | 0.15 |",
                 "balanced: 0 of 2 points within 1.05, 2 with the confidence interval",
                 "imbalanced: the worst 1.20, geometric mean 1.200"):
        expect(line in result.stdout, f"'{line}'", result)

    for arguments in (["--bench", "/nonexistent"], ["--launcher", "/nonexistent"],
                      ["--patterns", "nonsense"], ["--collectives", "nonsense"]):
        result = run(scratch, *arguments)
        expect(result.returncode == 2 and "Traceback" not in result.stderr and result.stderr,
               f"exit status 2 for {arguments}", result)
sys.exit(bool(failures))
