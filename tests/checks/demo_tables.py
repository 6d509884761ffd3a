#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/demo_tables.py says of made-up measurements what can be said of them."""

import json
import pathlib
import subprocess
import sys
import tempfile


def said(mpi, auto):
    """What is said of the seconds that trainings took in each run."""
    times = {("mpi", False): mpi, ("auto", False): auto, ("auto", True): auto,
             ("DynamicLeader+Reproducible", False): auto}
    with tempfile.TemporaryDirectory() as directory:
        files = []
        for (name, registered), seconds in times.items():
            for run, took in enumerate(seconds, 1):
                files.append(pathlib.Path(directory, f"{name}-{registered}-{run}.json"))
                files[-1].write_text(json.dumps(
                    {"allreduce": name, "registered": registered, "stragglers": run,
                     "seconds": took, "mean_us": 300.0, "tail_median_us": 30.0, "loss": 0.1,
                     "accuracy": 0.97, "ranks_agree": True, "weights": "1"}) + "\n", encoding="utf-8")
        return subprocess.run(
            [sys.executable, "scripts/demo_tables.py", "--mpi", "Open MPI 4.1", "--where",
             "4 ranks on 2 processors", *files],
            check=True, capture_output=True, text=True).stdout


def main():
    verdict = 0
    noisy = [10, 20, 40, 15, 30, 25]
    for what, mpi, auto, sentence in [
            ("in every run", [1.2 * t for t in noisy], noisy,
             "With papcoll's allreduce, training steps are 20.0 % faster than with Open MPI 4.1's "
             "(95 % interval +20.0 to +20.0 %, 6 pairs of runs; 4 ranks on 2 processors)."),
            ("the other way", noisy, [2 * t for t in noisy], "50.0 % slower than with Open MPI 4.1's"),
            ("now so, now so", noisy, noisy[::-1], "no difference from Open MPI 4.1's beyond the noise"),
            ("in three runs of three", [1.5 * t for t in noisy[:3]], noisy[:3], "+50.0 to +50.0 %"),
    ]:
        text = said(mpi, auto)
        if sentence not in text.splitlines()[0]:
            print(f"{what}: the first line is not '{sentence}' in\n{text}")
            verdict = 1
    return verdict


if __name__ == "__main__":
    sys.exit(main())
