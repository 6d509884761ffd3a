#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tune.py NODES PAPCOLL-BENCH LAUNCHER…: papcoll-bench --measure tuning on a virtual cluster.

NODES says how many ranks each node has, as in 1,1,1: it is one. LAUNCHER… is the command that
starts a program on as many ranks as the next argument says.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

NODES, BENCH, *LAUNCHER = sys.argv[1:]
RANKS = sum(map(int, NODES.split(",")))
CLUSTER = pathlib.Path(__file__).with_name("virtual_cluster.sh")
QUICK = ["--iterations", "5", "--warmup", "1"]
CANNOT_RUN_HERE = 77
failures = []


def run(*arguments, env=None):
    result = subprocess.run([CLUSTER, "--ranks", NODES, "--time-limit", "120", "--", *LAUNCHER,
                             str(RANKS), BENCH, *arguments, *QUICK],
                            capture_output=True, text=True, check=False, env=env)
    if result.returncode == CANNOT_RUN_HERE:
        print(result.stdout)
        sys.exit(CANNOT_RUN_HERE)
    return result


def expect(condition, what, result):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}\n{result.args}\nexit {result.returncode}\n{result.stdout}"
              f"\n{result.stderr}\n")


def test_tune(file):
    result = run("--measure", "tuning", "-o", str(file), "--bytes", "64,1k")
    expect(result.returncode == 0, "success of --measure tuning", result)
    if not file.exists():
        expect(False, "a file that is written", result)
        return
    tuning = json.loads(file.read_text(encoding="utf-8"))
    comment = tuning["made_by"]["comment"]
    expect(tuning["papcoll_selection"] == 1 and f"{RANKS} ranks" in comment
           and f"{RANKS} nodes" in comment, "a selection file of these nodes", result)
    found = tuning["thresholds"]
    values = {f"{group}.{name}": value for group, thresholds in found.items()
              for name, value in thresholds.items() if name != "comment"}
    costs = {"network.alpha_ns", "network.beta_as", "network.gamma_as"}
    expect(costs | {"network.gap_ns"} <= values.keys(), f"what links cost among {values}", result)
    expect(all(values.get(name, 0) > 0 for name in costs), f"costs, not {values}", result)
    expect(0 <= values.get("network.gap_ns", -1) <= values.get("network.alpha_ns", 0),
           f"a gap that is a part of the latency, not {values}", result)
    for name, value in values.items():
        group, own = name.split(".")
        said = [line for line in result.stdout.splitlines() if line.startswith(f"{name} = {value}  (")]
        measured = said[0].split("  (", 1)[1][:-1] if said else None
        expect(said and f"{own}: {measured}" in found[group]["comment"],
               f"{name} = {value}, on the screen as in the file", result)


def test_read_again(file):
    environment = {**os.environ, "PAPCOLL_TUNING": str(file)}
    result = run("allreduce", "--bytes", "8", "--check", env=environment)
    expect(result.returncode == 0, "a program that reads the file on all nodes", result)
    tuning = json.loads(file.read_text(encoding="utf-8"))
    tuning["thresholds"]["network"]["alpha_ns"] = -1
    file.write_text(json.dumps(tuning), encoding="utf-8")
    result = run("allreduce", "--bytes", "8", env=environment)
    expect(result.returncode != 0 and "thresholds.network.alpha_ns:" in result.stderr,
           "that it is read: a negative latency is refused", result)


with tempfile.TemporaryDirectory() as name:
    scratch = pathlib.Path(name) / "tuning.json"
    test_tune(scratch)
    if scratch.exists():
        test_read_again(scratch)
sys.exit(1 if failures else 0)
