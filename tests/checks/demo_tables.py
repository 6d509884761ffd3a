#!/usr/bin/env python3
"""scripts/demo_tables.py says of made-up measurements what can be said of them."""

import json
import pathlib
import subprocess
import sys
import tempfile


def said(mpi, auto):
    """What the sweep says of the tails that two algorithms had in each run."""
    with tempfile.TemporaryDirectory() as directory:
        files = []
        for run, tails in enumerate(zip(mpi, auto), 1):
            files.append(pathlib.Path(directory, f"{run}.json"))
            files[-1].write_text("".join(
                json.dumps({"arrival": "one-late", "bytes": 8, "algorithm": name, "seed": run,
                            "tail_median_us": tail}) + "\n"
                for name, tail in zip(("mpi", "auto"), tails)), encoding="utf-8")
        return subprocess.run(
            [sys.executable, "scripts/demo_tables.py", "sweep", "--output",
             pathlib.Path(directory, "out.json"), *files],
            check=True, capture_output=True, text=True).stdout


def main():
    verdict = 0
    noisy = [10, 20, 40, 15, 30, 25]
    for what, mpi, auto, sentence in [
            ("in every run", noisy, [t / 2 for t in noisy], "shorter at 8 bytes."),
            ("the other way", [t / 2 for t in noisy], noisy, "longer at 8 bytes."),
            ("now so, now so", noisy, noisy[::-1], "no difference beyond the noise at 8 bytes."),
            ("now so, now so", noisy, noisy[::-1], "differ by up to 4.0 times"),
            ("in three runs of three", noisy[:3], [t / 2 for t in noisy[:3]], "2.0 to 2.0"),
    ]:
        text = said(mpi, auto)
        if sentence not in text:
            print(f"{what}: '{sentence}' is missing in\n{text}")
            verdict = 1
    return verdict


if __name__ == "__main__":
    sys.exit(main())
