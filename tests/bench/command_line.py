#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""command_line.py PAPCOLL-BENCH LAUNCHER…: exit status, messages and output of papcoll-bench.

LAUNCHER… is the command that starts a program on as many ranks as the next argument says.
"""

import concurrent.futures
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BENCH, *LAUNCHER = sys.argv[1:]
PLOT = pathlib.Path("benchmarks/plot.py").resolve()
SCHEMA_CHECK = pathlib.Path("tests/checks/selection_schema.py").resolve()
QUICK = ["--iterations", "5", "--warmup", "1"]
failures = []


def run(*arguments, ranks=2, env=None, seconds=60):
    return subprocess.run(["timeout", str(seconds), *LAUNCHER, str(ranks), BENCH, *arguments],
                          capture_output=True, text=True, check=False, env=env)


def expect(condition, what, result):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}\n{result.args}\nexit {result.returncode}\n{result.stdout}"
              f"\n{result.stderr}\n")


def refuses(sentence, *arguments):
    result = run(*arguments)
    said = (result.stdout + result.stderr).count(sentence)
    expect(result.returncode == 2, f"exit status 2 for {arguments}", result)
    expect(said == 1, f"'{sentence}' said once, not {said} times", result)
    return result


def measures(*arguments, seconds=60):
    result = run(*arguments, *QUICK, seconds=seconds)
    expect(result.returncode == 0, f"success of {arguments}", result)
    return result


def test_bad_arguments(directory):
    # A launcher takes seconds to report a failure, and many can at once.
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        started = []
        check_refusals(directory, lambda *a: started.append(pool.submit(refuses, *a)))
        for one in started:
            one.result()


def check_refusals(directory, refused):
    refused("COLLECTIVE is required")
    for what, collective in (("tuning", "allreduce"), ("model", "bcast"), ("model", "gatherv")):
        refused(f"--measure {what} times what collectives are made of, or collectives of its own "
                f"choice: leave {collective} out", collective, "--measure", what, "-o", "t.json")
    refused("fewer than 3 sizes", "--measure", "model", "-o", "f.json", "--bytes", "64k,128k")
    refused("--quick requires --measure", "--quick", "allreduce")
    refused("--quick: take --measure tuning", "--measure", "model", "-o", "f.json", "--quick")
    refused("'speed' is none of tuning, model, links, node-costs", "--measure", "speed")
    for what in ("tuning", "model", "node-costs"):
        refused(f"--measure {what}: name the file to write: -o FILE", "--measure", what)
    refused("--measure tuning: leave --json and --csv out", "--measure", "tuning", "-o", "t.json",
            "--json")
    for what in ("tuning", "model", "links"):
        result = refuses("cannot write /nonexistent/t.json", "--measure", what, "-o",
                         "/nonexistent/t.json")
        expect(result.stdout == "", f"{what}: the file is refused before it measures", result)
    file = directory / "one_node.network"
    result = refuses("a network file needs several nodes", "--measure", "links", "-o", str(file))
    expect(result.stdout == "" and not file.exists(), "nothing measured for one node", result)
    refused("--measure links: leave --group-size out", "--measure", "links", "--group-size", "1")
    refused("--measure links: leave --machine out", "--measure", "links", "--machine", "nodes=2")
    refused("'sum' is none of allreduce", "sum")
    refused("there is no --fast: see papcoll-bench --help", "allreduce", "--fast")
    refused("there is no --byte: did you mean --bytes?", "allreduce", "--byte", "8")
    refused("there is no --measur: did you mean --measure?", "--measur=tuning")
    refused("not expected: reduce\nRun papcoll-bench --help", "allreduce", "reduce")
    refused("'8:4' is not a range", "allreduce", "--bytes", "8:4")
    refused("12 bytes are no whole number of double", "allreduce", "--bytes", "12")
    refused("a barrier moves no data", "barrier", "--bytes", "8")
    refused("'alltoallw' is none of allreduce", "alltoallw")
    refused("the blocks of alltoall do not differ in length: take alltoallv", "alltoall",
            "--counts", "random")
    refused("the blocks of allreduce do not differ in length", "MPI_Allreduce", "--gap", "2")
    refused("'some' is none of power-law, equal, random, one-large", "gatherv", "--counts", "some")
    refused("--gap: '-1' is no whole number from 0 to", "scatterv", "--gap", "-1")
    refused("'rows' is no layout (write strided:BLOCK:STRIDE", "allreduce", "--layout", "rows")
    refused("'strided:8:4' has blocks that overlap", "allreduce", "--layout", "strided:8:4")
    refused("8 bytes are no whole number of blocks of 2 doubles", "allreduce", "--layout",
            "strided:2:4", "--bytes", "8")
    refused("--layout: alltoallv has none", "alltoallv", "--layout", "column")
    refused("--layout: barrier has none", "barrier", "--layout", "column")
    refused("mpi:packed packs what is not contiguous: it needs --layout", "allreduce", "--algorithm",
            "mpi:packed")
    refused("--arrival uniform needs --mif or --spread", "allreduce", "--arrival", "uniform")
    refused("balanced arrivals have neither", "allreduce", "--mif", "3")
    refused("--mif excludes --spread", "allreduce", "--arrival", "normal", "--mif", "3",
            "--spread", "1ms")
    refused("'3' is not a duration: write a number and ns", "allreduce", "--arrival", "normal", "--spread", "3")
    refused("--root 2: there are 2 ranks", "bcast", "--root", "2")
    refused("--root: '-1' is no whole number from 0 to", "bcast", "--root", "-1")
    refused("--group-size: '0' is no whole number from 1 to", "allreduce", "--group-size", "0")
    refused("--placement requires --machine", "allreduce", "--placement", "by-node")
    refused("'by-rank' is none of by-core, by-socket, by-node, random", "allreduce", "--machine",
            "nodes=2", "--placement", "by-rank")
    refused("'sockets=2' is none of nodes=N, packages=N", "allreduce", "--machine",
            "nodes=2,sockets=2")
    refused("did you mean nodes=N?", "allreduce", "--machine", "nod=2")
    refused("has places for 1 ranks, and not for 2", "allreduce", "--machine", "nodes=1")
    refused("cannot read the network file", "allreduce", "--machine", "/nonexistent")
    refused("chunk_bytes is 100: take a multiple of 64", "allreduce", "--chunk-bytes", "100")
    refused("'64k,1M' is not one size", "allreduce", "--chunk-bytes", "64k,1M")
    refused("'cma' is none of best, copied, without-cma, staged", "allreduce", "--peer-access",
            "cma")
    refused("'stack' is none of private, arena", "allreduce", "--buffers", "stack")
    refused("--seed: '-1' is no whole number from 0 to", "bcast", "--seed", "-1")
    refused("papcoll-bench: 'Rinng' is no policy", "allreduce", "--algorithm", "Rinng")
    refused("DynamicLeader does not serve gather, only", "gather", "--algorithm", "DynamicLeader",
            "--bytes", "8")
    refused("ReduceThenBcast:Binomial,Chain does not serve reduce, only allreduce: take", "reduce", "--bytes", "8",
            "--algorithm", "ReduceThenBcast:Binomial,Chain+MpiTransport")
    refused("--output: --check follows, and no value", "allreduce", "--output", "--check")
    refused("cannot write /nonexistent/out", "allreduce", "--output", "/nonexistent/out")
    refused("cannot read the trace of arrivals /nonexistent", "allreduce", "--arrival",
            "trace:/nonexistent")
    trace = directory / "trace"
    trace.write_text("0,1e-5\n1e-5,late\n", encoding="utf-8")
    refused("line 2, column 6: 'late' is not a time", "allreduce", "--arrival", f"trace:{trace}")
    wide = directory / "wide_trace"
    wide.write_text("0,1,2\n", encoding="utf-8")
    refused("has 3 columns", "allreduce", "--arrival", f"trace:{wide}")


def test_json(directory):
    out = directory / "rows.json"
    result = measures("allreduce", "--bytes", "8,4k", "--arrival", "uniform", "--mif", "20",
                      f"--json={out}", "--check", "--type", "int32",
                      "--op", "max", "--in-place", "--seed", "7")
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    expect([(r["algorithm"], r["bytes"]) for r in rows]
           == [("mpi", 8), ("auto", 8), ("mpi", 4096), ("auto", 4096)], "a row each", result)
    for row in rows:
        expect(row["collective"] == "allreduce" and row["type"] == "int32" and row["op"] == "max"
               and row["ranks"] == 2 and row["nodes"] == 1 and row["in_place"] is True
               and row["arrival"] == "uniform" and row["seed"] == 7 and row["iterations"] == 5
               and row["checked"] is True and row["stopped_by"] == "iterations",
               f"the arguments in {row}", result)
        expect(abs(row["mif"] - 20) < 1e-9 and row["spread_us"] > 0, f"the MIF in {row}", result)
        expect(0 < row["median_us"] <= row["p95_us"] <= row["max_us"] and row["ci95_us"] >= 0
               and row["mean_us"] <= row["max_us"] and row["tail_median_us"] > 0
               and row["bound_us"] > 0 and row["bound_how"] and row["mpi_library"],
               f"the measurements in {row}", result)
        expect(row["neighbourhood"] in ("near", "apart", "mixed", "none")
               and (row["signal_ns"] is None if row["neighbourhood"] == "none"
                    else 0 < row["signal_ns"] < 1000), f"the neighbourhood in {row}", result)
    expect(rows[0]["resolved"] == "MPI_Allreduce" and "Transport" in rows[1]["resolved"],
           "what ran", result)
    return out


def test_csv(directory):
    trace = directory / "trace"
    trace.write_text("# two ranks\n0 2e-5\n3e-5 0\n", encoding="utf-8")
    result = measures("allreduce", "--bytes", "64", "--algorithm",
                      "ReduceThenBcast:Binomial,Chain+MpiTransport", "mpi", "--csv",
                      "--arrival", f"trace:{trace}")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    expect([r["algorithm"] for r in rows]
           == ["ReduceThenBcast:Binomial,Chain+MpiTransport", "mpi"]
           and all(abs(float(r["spread_us"]) - 30) < 1e-6 for r in rows), "csv of a trace", result)


def test_buffers():
    for arguments, kind in (([], "private"), (["--buffers", "arena"], "arena")):
        result = measures("allreduce", "--bytes", "64", "--json", "--check", *arguments)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        expect([r["buffers"] for r in rows] == [kind] * 2
               and all(r["arena"] == (kind == "arena") for r in rows), f"buffers: {kind}", result)


def test_uneven():
    for collective in ("alltoallv", "allgatherv", "gatherv", "scatterv"):
        result = measures(collective, "--bytes", "0,24,4k", "--json", "--check",
                          "--persistent", "--counts", "random", "--gap", "2", "--root", "1",
                          "--algorithm", "mpi", "auto", "MpiTransport")
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        expect(len(rows) == 15
               and all((r["collective"], r["counts"], r["gap"]) == (collective, "random", 2)
                       for r in rows), f"rows of {collective}", result)
        expect([r["resolved"] for r in rows[:2]]
               == [f"MPI_{collective.capitalize()}", "BlockCopies+ShmTransport"],
               f"what ran for {collective}", result)
        measures(collective, "--bytes", "4k", "--check", "--in-place", "--type", "uint8")
    result = measures("alltoallv", "--bytes", "64")
    expect(", counts: power-law, arrival" in result.stdout, "the usual counts", result)


def test_layout():
    result = measures("allreduce", "--bytes", "0,80,4000", "--layout", "strided:2:5", "--check",
                      "--json", "--persistent", "--algorithm", "mpi", "mpi:packed", "auto")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    expect([(r["algorithm"], r["layout"]) for r in rows[:4]]
           == [(name, "strided:2:5")
               for name in ("mpi", "mpi:packed", "auto", "persistent auto")], "a layout", result)
    expect([r["resolved"] for r in rows[:2]] == ["MPI_Allreduce", "MPI_Allreduce of a packed copy"],
           "what ran natively", result)
    measures("allreduce", "--bytes", "4k", "--layout", "column:3", "--check", "--in-place",
             "--op", "max", "--type", "int32")
    for collective in ("reduce", "bcast", "allgather", "reduce_scatter", "gather", "scatter",
                       "alltoall", "scan", "exscan"):
        measures(collective, "--bytes", "4k", "--layout", "strided:2:5", "--check",
                 "--persistent", "--algorithm", "mpi", "mpi:packed", "auto")


def test_persistent():
    result = measures("exscan", "--bytes", "64", "--persistent", "--check", "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    expect([r["algorithm"] for r in rows] == ["mpi", "auto", "persistent auto"],
           "a persistent exscan", result)


def test_alone():
    result = run("allreduce", "--bytes", "8", "--json", *QUICK, ranks=1)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    expect(result.returncode == 0 and len(rows) == 2
           and all((r["neighbourhood"], r["signal_ns"]) == ("none", None) for r in rows),
           "no signal where there is one rank", result)


def test_groups():
    result = measures("allreduce", "--bytes", "64", "--group-size", "1", "--json",
                      "--check", "--algorithm", "Hierarchical:Exchange,Ring", "Ring")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    expect([r["resolved"] for r in rows] == ["Hierarchical:Exchange,Ring", "Ring+ShmTransport"]
           and all(r["group_size"] == 1 for r in rows), "a hierarchy of groups", result)


def test_machine():
    result = measures("allreduce", "--bytes", "64", "--machine", "nodes=1,cores=4", "--placement",
                      "random", "--json", "--check", "--algorithm", "OnTopology+Ring")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    expect([(r["machine"], r["placement"], r["routes"]) for r in rows]
           == [("nodes=1,cores=4", "random", False)], "a described machine", result)


def test_links():
    result = run("--measure", "links")
    expect(result.returncode == 0, "links measured", result)
    lines = result.stdout.splitlines()
    expect(any(line.startswith("ranks 0 and 1, ") for line in lines), "a row of ranks", result)
    expect(lines[-1].startswith("GPU"), "paths between GPUs, or why there are none", result)


def test_library_options():
    result = measures("allreduce", "--bytes", "300k", "--chunk-bytes", "16k", "--peer-access",
                      "staged", "--copy-method", "streamed", "--agreement-period", "4", "--selection",
                      "repeatable", "--json", "--check", "--algorithm", "PeerSlices")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    expect([(r["chunk_bytes"], r["peer_access"], r["copy_method"], r["agreement_period"],
             r["selection"]) for r in rows] == [(16384, "staged", "streamed", 4, "repeatable")],
           "options of the library", result)


def test_table():
    result = measures("barrier", "--start", "clock", "--arrival", "one-late", "--spread", "50us",
                      "--delay", "sleep")
    lines = result.stdout.splitlines()
    expect(len(lines) == 5 and lines[2].startswith("# Size") and lines[3].split()[1] == "mpi",
           "a table of two rows", result)
    column = lines[2].index(" Signal(ns)")
    expect(all(line[column:column + 11].split()[0] in ("near", "apart", "mixed", "-")
               for line in lines[3:]), "a signal beside each row", result)
    result = run("--help", ranks=1)
    expect(result.returncode == 0 and "COLLECTIVE" in result.stdout, "--help", result)
    start = "  mpirun -n 2 papcoll-bench "
    examples = [line for line in result.stdout.splitlines() if line.startswith(start)]
    expect(len(examples) == 2, "two examples", result)
    with tempfile.TemporaryDirectory() as directory:
        for example in examples:
            done = subprocess.run(["timeout", "60", *LAUNCHER, "2", BENCH,
                                   *example.removeprefix(start).split()],
                                  capture_output=True, text=True, check=False, cwd=directory)
            expect(done.returncode == 0, example, done)
    result = subprocess.run(["timeout", "60", *LAUNCHER, "1", "sh", "-c",
                             f"exec {BENCH} --help > /dev/full"],
                            capture_output=True, text=True, check=False)
    expect(result.returncode == 2 and "cannot write all of the output" in result.stderr,
           "a full disk is told", result)


def test_fit(directory):
    file = directory / "model.json"
    file.write_text("the one before", encoding="utf-8")
    with file.open(encoding="utf-8") as reader:
        # A hundred candidates, ten calls each at least: beside other tests each call waits for a turn.
        result = measures("--measure", "model", "-o", str(file), "--bytes", "8k:32k", seconds=300)
        expect(reader.read() == "the one before" and not file.with_suffix(".json.part").exists(),
               "whoever reads the file meanwhile has all of one", result)
    expect(result.stdout.startswith("--measure model takes up to about "), "how long it takes", result)
    model = json.loads(file.read_text(encoding="utf-8"))
    expect(model["papcoll_model"] == 1 and model["ranks"] == 2
           and all(model["log_gops"][key] >= 0 for key in ("latency", "gap_per_byte", "rendezvous"))
           and len(model["combining"]) == 20, "a model of messages and combining", result)
    ring, = (s for s in model["schedules"]
             if (s["collective"], s["algorithm"]) == ("allreduce", "Ring"))
    expect(ring["alpha"] > 0 and ring["alpha_ci95"] >= 0
           and [run["use"] for run in ring["runs"]] == ["fit"] * 3 + ["prediction"] * 2
           and all(run["predicted"] > 0 for run in ring["runs"]), "the costs of a schedule", result)
    expect(all(chunk["chunks"] in [m["chunks"] for m in chunk["measured"]]
               for chunk in model["chunks"]) and len(model["chunks"]) >= 8,
           "numbers of chunks", result)


def test_tune(directory):
    file = directory / "tuning.json"
    link = directory / "link_to_tuning.json"
    link.symlink_to(file)  # which is not there yet
    result = measures("--measure", "tuning", "-o", str(link), "--bytes", "64,1k", seconds=300)
    expect(link.is_symlink(), "a link that stays one", result)
    tuning = json.loads(file.read_text(encoding="utf-8"))
    found = tuning["thresholds"]
    expect(tuning["papcoll_selection"] == 1
           and {"alpha_ns", "gap_ns", "beta_as", "gamma_as", "comment"} == found["network"].keys()
           and "first and the last rank" in found["network"]["comment"], "a selection file", result)
    expect_schema(file, result)
    file.write_text(json.dumps(tuning, indent=1), encoding="utf-8")
    environment = {**os.environ, "PAPCOLL_TUNING": str(file)}
    result = run("allreduce", "--bytes", "8", *QUICK, env=environment)
    expect(result.returncode == 0, "a program that reads it", result)
    file.write_text('{"papcoll_selection": 1,\n"thresholds": {"tre": {"value": 1}}}', encoding="utf-8")
    result = run("allreduce", "--bytes", "8", *QUICK, env=environment)
    expect(result.returncode != 0 and "line 2, field thresholds.tre:" in result.stderr,
           "a corrupt one is refused", result)


def test_tune_quick(directory):
    file = directory / "learned.json"
    result = measures("--measure", "tuning", "-o", str(file), "--quick", "--bytes", "64,1k", seconds=120)
    learned = json.loads(file.read_text(encoding="utf-8"))
    expect(f" kinds of calls are settled, in {file}" in result.stdout
           and {c["collective"] for c in learned["learned"][0]["calls"]} >= {"allreduce", "gather"},
           "what was learned", result)
    expect_schema(file, result)


def expect_schema(file, result):
    checked = subprocess.run([sys.executable, SCHEMA_CHECK, file], capture_output=True, text=True,
                             check=False)
    expect(checked.returncode in (0, 77), f"a selection file: {checked.stdout}", result)


def test_plot(directory, rows):
    def plot(*arguments):
        return subprocess.run([sys.executable, PLOT, *arguments], capture_output=True, text=True,
                              check=False)

    bad = directory / "bad.json"
    bad.write_text('{"collective": "allreduce"}\n', encoding="utf-8")
    for arguments in ([str(directory / "none")], [str(bad)], [str(rows), "--metric", "speed"]):
        result = plot(*arguments)
        expect(result.returncode == 2 and "Traceback" not in result.stderr,
               f"exit status 2 of plot.py {arguments}", result)
    picture = directory / "plot.png"
    result = plot(str(rows), "--metric", "tail", "-o", str(picture))
    if "matplotlib" in result.stderr:
        print("no matplotlib: nothing is drawn")
        return
    expect(result.returncode == 0 and picture.read_bytes().startswith(b"\x89PNG"), "a plot", result)


with tempfile.TemporaryDirectory() as name:
    scratch = pathlib.Path(name)
    test_bad_arguments(scratch)
    test_csv(scratch)
    test_buffers()
    test_uneven()
    test_layout()
    test_persistent()
    test_alone()
    test_groups()
    test_machine()
    test_links()
    test_library_options()
    test_table()
    test_tune(scratch)
    test_tune_quick(scratch)
    test_fit(scratch)
    test_plot(scratch, test_json(scratch))
sys.exit(1 if failures else 0)
