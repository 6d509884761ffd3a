#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suara_exhaustive.py SUARA_EXHAUSTIVE_BENCH: the study of that name with few points leaves them and
a comparison, measures none again, and says what is wrong with a command line."""

import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).parents[2] / "benchmarks" / "reproduce" / "suara_exhaustive.py"


def run(folder, *more, program=sys.argv[1]):
    return subprocess.run([sys.executable, str(SCRIPT), "--program", program, "--output", folder,
                           *more], capture_output=True, text=True, check=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        few = ("--ranks", "6,8", "--bytes", "64k")
        done = run(folder, *few)
        assert done.returncode == 0, done.stderr
        rows = json.loads((pathlib.Path(folder) / "results.json").read_text(encoding="utf-8"))
        assert [(row["ranks"], row["bytes"]) for row in rows] == [(6, 65536), (8, 65536)], rows
        for row in rows:
            best = min({**row["quickest"], **row["flat"]}.values())
            assert 0 < best <= row["chosen"]["seconds"] and row["grids"] > 0, row
        text = (pathlib.Path(folder) / "comparison.md").read_text(encoding="utf-8")
        assert "| 6 | 64 KB |" in text, text
        again = run(folder, *few, "--resume")
        assert again.returncode == 0 and again.stderr == "", again.stderr
    for wrong, words in ((["--ranks", "six"], "write numbers"), (["--bytes", "0"], "write bytes")):
        done = run(folder, *wrong)
        assert done.returncode == 2 and words in done.stderr, (done.returncode, done.stderr)
    done = run(folder, program="no-such-program")
    assert done.returncode == 2 and "--target suara_exhaustive_bench" in done.stderr, done.stderr


if __name__ == "__main__":
    main()
