#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The studies in simulation, each with few points: they leave what they promise, and do not measure
again what they have."""

import importlib
import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(__file__).parents[2] / "benchmarks" / "reproduce"
STUDIES = {"two_trees.py": "| bcast | 17 |", "suara.py": "| contention-free | 12 | 64 KB |",
           "flat_against_hierarchical_simulated.py": "| 8 | 10 | 64 KB |",
           "alltoall.py": "| with-overheads | 8 | 32 KB |",
           "topology.py": "| 64 | allreduce | RecursiveDoubling | 64 KB | 0% | 0% | 0% |"}
SAYS = {"alltoall.py": "Behind by more than 5 % at 0 of 15 "}
TELLS_WHAT_IS_MISSING = ("two_trees.py", "suara.py")


def run(script, folder, *more):
    words = [sys.executable, str(SCRIPTS / script), "--bench", sys.argv[1], "--output", folder,
             "--quick", *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{script}: {done.stderr}"
    return done.stderr


def leaves_out_what_fails():
    sys.path.insert(0, str(SCRIPTS))
    study = importlib.import_module("simulated_study")
    with tempfile.TemporaryDirectory() as folder:
        rows = study.Rows(pathlib.Path(folder) / "rows.jsonl", resume=False)
        run_of_none = study.Run("contention-free", 4, "bcast", (64,), ("NoSuchAlgorithm",))
        rows.add(run_of_none, str(pathlib.Path(sys.argv[1]).resolve()), time_limit=60)
        assert not rows.rows, rows.rows
        assert "NoSuchAlgorithm" in rows.left_out[0], rows.left_out


def main():
    leaves_out_what_fails()
    for script, line in STUDIES.items():
        with tempfile.TemporaryDirectory() as folder:
            run(script, folder)
            rows = (pathlib.Path(folder) / "rows.jsonl").read_text(encoding="utf-8").splitlines()
            assert all(json.loads(row)["seconds"] > 0 for row in rows), f"{script}: {rows}"
            text = (pathlib.Path(folder) / "comparison.md").read_text(encoding="utf-8")
            assert line in text, f"{script}: no {line} in {text}"
            assert SAYS.get(script, "") in text, f"{script}: no {SAYS[script]} in {text}"
            assert "Left out" not in text, text
            again = run(script, folder, "--resume")
            assert " ranks, " not in again, f"{script} measures again: {again}"
            run(script, folder, "--report")
            text = (pathlib.Path(folder) / "comparison.md").read_text(encoding="utf-8")
            assert line in text, f"{script} --report: no {line} in {text}"
            assert ("Not run:" in text) == (script in TELLS_WHAT_IS_MISSING), text


if __name__ == "__main__":
    main()
