#!/usr/bin/env python3
"""peers.py: benchmarks/peers, as far as it needs neither the network nor an MPI library."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path("benchmarks/peers").resolve()
sys.path.insert(0, str(PEERS))
sys.dont_write_bytecode = True
import compare  # noqa: E402  pylint: disable=wrong-import-position
import gains  # noqa: E402  pylint: disable=wrong-import-position
import libraries as mpi  # noqa: E402  pylint: disable=wrong-import-position
import sweep  # noqa: E402  pylint: disable=wrong-import-position

PAIR = sweep.Setting(2, True, "balanced", "private")
LATE = sweep.Setting(8, False, "one-late", "arena")
SCAN = sweep.Setting(2, True, "balanced", "private", "scan")
STRIDED = sweep.Setting(2, True, "balanced", "private", "strided")
INTEL, MPICH5, OPENMPI5, MPICH, OPENMPI = mpi.LIBRARIES


def rows(library, setting, size, where, native, papcoll, packed=None):
    """As papcoll-bench and compare.py make them."""
    name = gains.metric_of(setting.arrival)[0]
    common = {"library": library.name, "call": setting.call, "ranks": setting.ranks,
              "kind": setting.buffers,
              "binding": "pinned" if setting.pinned else "free", "arrival": setting.arrival,
              "bytes": size, "neighbourhood": where, "bound_us": 0.05, "sources": "abc",
              "signal_ns": {"near": 52.0, "apart": 266.0}.get(where), "mpi_library": library.says,
              "time": "2026-01-02T03:04:05+00:00", "pinned": setting.pinned}
    copies = [{**common, "algorithm": "mpi:packed", "resolved": "MPI_Allreduce of a packed copy",
               name: packed}] if packed else []
    return [{**common, "algorithm": "mpi", "resolved": "MPI_Allreduce", name: native}, *copies,
            {**common, "algorithm": "auto", "resolved": "Exchange+ShmTransport", name: papcoll}]


class Gains(unittest.TestCase):
    def test_the_best_library_is_compared_with_papcoll_under_it(self):
        point, = gains.points(rows(INTEL, PAIR, 8, "near", 0.4, 0.2)
                              + rows(MPICH5, PAIR, 8, "near", 0.3, 0.25))
        self.assertEqual(point["best"], "mpich5")
        self.assertAlmostEqual(point["gain"], 0.3 / 0.25)
        self.assertAlmostEqual(point["gains"]["intel"], 2)

    def test_neighbourhoods_are_points_of_their_own_and_mixed_ones_none(self):
        found = gains.points(rows(INTEL, PAIR, 8, "near", 0.4, 0.2)
                             + rows(INTEL, PAIR, 8, "apart", 0.9, 0.6)
                             + rows(MPICH5, PAIR, 8, "mixed", 0.1, 0.6))
        self.assertEqual([(p["neighbourhood"], p["best"]) for p in found],
                         [("apart", "intel"), ("near", "intel")])

    def test_late_arrivals_are_compared_by_the_tail(self):
        point, = gains.points(rows(INTEL, LATE, 64, "near", 30, 10))
        self.assertEqual(point["metric"], "tail_median_us")

    def test_the_overview_has_least_and_median_of_private_and_shared_buffers(self):
        shared = sweep.Setting(2, True, "balanced", "registered")
        found = gains.points([row for size, gain in ((8, 0.5), (64, 2), (512, 3))
                              for row in rows(INTEL, PAIR, size, "near", gain, 1)]
                             + rows(INTEL, shared, 8, "apart", 4, 1))
        self.assertEqual(gains.overview(found)[2:],
                         ["| 2, pinned | balanced | **0.50** / 2.0 | – | – | 4.0 / 4.0 |"])

    def test_the_first_row_of_a_library_counts(self):
        point, = gains.points(rows(INTEL, PAIR, 8, "near", 0.4, 0.2)
                              + rows(INTEL, PAIR, 8, "near", 9, 9))
        self.assertAlmostEqual(point["gain"], 2)

    def test_losing_points_are_bold(self):
        self.assertEqual([gains.shown(g) for g in (0.97, 0.999, 1, 1.5, 2.04, 12.3)],
                         ["**0.97**", "**1.00**", "1.00", "1.50", "2.0", "12"])

    def test_the_table_says_where_each_point_was_measured(self):
        found = gains.points(rows(INTEL, PAIR, 65536, "apart", 9, 10)
                             + rows(MPICH5, LATE, 64, "near", 30, 10))
        head, _, first, second = gains.table(found, [INTEL, MPICH5, OPENMPI5])
        self.assertNotIn(OPENMPI5.title, head)
        self.assertEqual(first, "| 2, pinned | balanced | private | 64 k | apart | 266 | "
                                "Intel MPI 2021.18 | 9 | 10 | **0.90** | 0.05 | **0.90** | – |")
        self.assertIn("| 8 | one-late | arena | 64 | near | 52 | MPICH 5.0.2 |", second)
        self.assertEqual({line.count("|") for line in (head, first, second)}, {14})

    def test_the_summary_has_a_line_for_the_best_and_for_each(self):
        found = gains.points(rows(INTEL, PAIR, 8, "near", 4, 1) + rows(MPICH5, PAIR, 8, "near", 2, 1)
                             + rows(INTEL, PAIR, 16, "near", 0.5, 1))
        self.assertEqual(gains.summary(found, [INTEL, MPICH5])[2:], [
            "| the best at each point | 2 | **0.50** | 1.25 | 50% | 1 |",
            "| Intel MPI 2021.18 | 2 | **0.50** | 2.2 | 50% | 1 |",
            "| MPICH 5.0.2 | 1 | 2.0 | 2.0 | 100% | 0 |"])
        text = "\n".join(gains.head(found, [INTEL, MPICH5], [], ["left out: all else"]))
        self.assertIn("papcoll loses at 1 of 2 points", text)
        self.assertIn("at 1 points not all 2 libraries were measured", text)
        self.assertIn("- left out: all else", text)


    def test_each_collective_has_a_summary_and_a_table_of_its_own(self):
        found = gains.points(rows(INTEL, SCAN, 8, "near", 4, 1) + rows(INTEL, PAIR, 8, "near", 2, 1)
                             + rows(INTEL, SCAN, 16, "apart", 0.5, 1))
        text = "\n".join(gains.head(found, [INTEL], [], ["a note"]))
        self.assertLess(text.index("## allreduce"), text.index("## scan"))
        self.assertIn("| allreduce | 1 | 1.5 | 100% | 2.0 | 0 |\n"
                      "| scan | 2 | 1.5 | 50% | **0.50** | 1 |", text)
        self.assertIn("- the worst point: 2 ranks, pinned, balanced, private, 16 B, apart: "
                      "**0.50** over Intel MPI 2021.18\n- papcoll loses at 1 of 2 points\n"
                      "  - 2 ranks, pinned, balanced, private, 16 B, apart: **0.50** over", text)
        self.assertTrue(text.endswith("- a note"))
        lines = gains.tables(found, [INTEL])
        self.assertEqual([line for line in lines if line.startswith("##")],
                         ["## Every point of allreduce", "## Every point of scan"])
        self.assertEqual(sum(line.startswith("| 2, pinned") for line in lines), 3)

    def test_a_strided_call_is_compared_with_packed_copies_as_well(self):
        found = gains.points(rows(INTEL, STRIDED, 64, "near", 9, 4, packed=8)
                             + rows(MPICH5, STRIDED, 64, "near", 10, 5, packed=6)
                             + rows(INTEL, STRIDED, 65536, "near", 9, 3, packed=6))
        self.assertEqual([round(p["gain"], 2) for p in found], [2.25, 3])
        self.assertEqual([p["gain_over_packed"] for p in found], [6 / 5, 2])
        self.assertIn("| packed copies, the best at each point | 2 | 1.20 | 1.60 | 50% | 0 |",
                      gains.summary(found, [INTEL, MPICH5]))
        head, _, first, _ = gains.table(found, [INTEL, MPICH5])
        self.assertIn("| bound, µs | over packed | Intel MPI", head)
        self.assertIn("| 0.05 | 1.20 | 2.2 | 2.0 |", first)
        self.assertIn("| at least 2 |", gains.summary(found, [INTEL])[0])

    def test_no_more_than_the_worst_losing_points_are_listed(self):
        found = gains.points([row for i in range(30)
                              for row in rows(INTEL, PAIR, 8 << i, "near", 0.1 + i / 100, 1)])
        text = "\n".join(gains.section(found, [INTEL]))
        self.assertEqual(text.count("  - 2 ranks"), gains.MOST_LISTED)
        self.assertIn("  - and 10 more, bold in the table", text)


class Sweep(unittest.TestCase):
    def test_pinned_where_there_are_processors_and_with_one_late_not_pinned_as_well(self):
        found = list(sweep.settings([2, 8], ["balanced", "one-late"], ["private"], 2))
        self.assertEqual([(s.ranks, s.pinned, s.arrival) for s in found],
                         [(2, True, "balanced"), (2, True, "one-late"), (2, False, "one-late"),
                          (8, False, "balanced"), (8, False, "one-late")])

    def test_what_is_measured_is_not_measured_again(self):
        both = sweep.NEIGHBOURHOODS
        seen = sweep.measured(rows(INTEL, PAIR, 8, "near", 1, 1) + rows(INTEL, PAIR, 16, "mixed", 1, 1)
                              + rows(INTEL, PAIR, 32, "near", 1, 1)[:1]
                              + rows(INTEL, PAIR, 64, "none", 1, 1))
        left = sweep.missing(PAIR, "intel", [8, 16, 32, 64], seen, both)
        self.assertEqual(left, {8: {"apart"}, 16: set(both), 32: set(both)})
        self.assertEqual(sweep.due(left, "near"), [16, 32])
        self.assertEqual(sweep.due(left, "apart"), [8, 16, 32])
        self.assertEqual(list(sweep.missing(PAIR, "intel", [8, 16], seen, ["any"])), [16])
        self.assertEqual(list(sweep.missing(PAIR, "mpich", [8], seen, ["near"])), [8])

    def test_all_libraries_meet_the_same_arrivals(self):
        self.assertEqual(sweep.runs_of(PAIR, [8, 16]), [([8, 16], None)])
        self.assertEqual(sweep.runs_of(PAIR, []), [])
        (sizes, small), (_, large) = sweep.runs_of(LATE, [8, 2**20])
        self.assertEqual((sizes, small), ([8], 10.0))
        self.assertGreater(large, 4000)

    def test_options_of_papcoll_bench(self):
        text = " ".join(sweep.bench_options(PAIR, [8, 16], None, False, []))
        self.assertIn("--algorithm mpi auto --sizes 8,16 --arrival balanced --buffers private "
                      "--start clock --delay busy", text)
        text = " ".join(sweep.bench_options(LATE, [8], 10.0, True, ["--warmup", "10"]))
        self.assertIn("--buffers arena --start barrier --delay sleep", text)
        self.assertTrue(text.endswith("--warmup 10 --spread 10.0us"))


    def test_what_is_called(self):
        found = list(sweep.settings([2], ["balanced"], ["private"], 2, ["scan", "alltoallv"]))
        self.assertEqual([s.call for s in found], ["scan", "alltoallv"])
        text = " ".join(sweep.bench_options(found[1], [8], None, False, []))
        self.assertTrue(text.startswith("alltoallv --algorithm mpi auto --sizes 8"), text)
        text = " ".join(sweep.bench_options(STRIDED, [64], None, False, []))
        self.assertTrue(text.startswith("allreduce --layout strided:8:64 --algorithm mpi mpi:packed "
                                        "auto --sizes 64"), text)
        self.assertEqual((sweep.sizes_of(SCAN)[0], sweep.sizes_of(SCAN)[-1]), (8, 2**20))
        self.assertEqual(sweep.sizes_of(STRIDED)[0], 64)
        self.assertEqual(sweep.served(STRIDED, sweep.QUICK), [2**16])
        self.assertEqual(sweep.setting_of(rows(INTEL, STRIDED, 64, "near", 1, 1)[0]), STRIDED)


class Launching(unittest.TestCase):
    def setUp(self):
        self.home = mpi.Home("/somewhere")

    def launch(self, library, *arguments):
        command, more = mpi.launch(library, self.home, *arguments)
        return " ".join(command[1:]), more

    def test_each_finds_its_own_launcher_first(self):
        for library in (INTEL, MPICH5, OPENMPI5):
            own = f"/somewhere/venv/mpi/{library.name}/bin"
            self.assertEqual(mpi.environment(library, self.home)["PATH"].split(":")[0], own)
            self.assertEqual(mpi.launch(library, self.home, 2, True, False, True)[0][0],
                             f"{own}/mpirun")

    def test_pinned(self):
        self.assertEqual(self.launch(INTEL, 2, True, False, True),
                         ("-n 2", {"I_MPI_FABRICS": "shm", "I_MPI_PIN": "on",
                                   "I_MPI_PIN_DOMAIN": "core"}))
        self.assertEqual(self.launch(MPICH5, 2, True, False, True), ("-bind-to core -n 2", {}))
        self.assertEqual(self.launch(OPENMPI5, 2, True, False, True),
                         ("--allow-run-as-root --bind-to core -n 2", {}))

    def test_more_ranks_than_processors_yield(self):
        self.assertEqual(self.launch(INTEL, 8, False, True, True)[1]["I_MPI_THREAD_YIELD"], "2")
        self.assertTrue(self.launch(MPICH5, 8, False, True, True)[1])
        self.assertEqual(self.launch(OPENMPI5, 8, False, True, False)[0],
                         "--bind-to none --map-by :OVERSUBSCRIBE --mca mpi_yield_when_idle 1 -n 8")

    def test_the_distributions(self):
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("mpirun.mpich", "mpirun.openmpi"):
                file = pathlib.Path(scratch) / name
                file.write_text("#!/bin/sh\n", encoding="utf-8")
                file.chmod(0o755)
            before = os.environ["PATH"]
            os.environ["PATH"] = scratch
            try:
                self.assertEqual(mpi.launch(OPENMPI, self.home, 8, False, True, False)[0],
                                 [f"{scratch}/mpirun.openmpi", "--bind-to", "none",
                                  "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", "8"])
                command, _ = self.launch(MPICH, 8, False, True, False)
                self.assertIn("-genv LD_PRELOAD /somewhere/build/mpich_yield.so -n 8", command)
            finally:
                os.environ["PATH"] = before

    def test_what_ran_must_be_what_was_meant(self):
        row = {"ranks": 2, "mpi_library": "MPICH 5.0.2", "pinned": True}
        compare.check_row(row, MPICH5, 2, True)
        for library, ranks, pinned in ((INTEL, 2, True), (MPICH5, 4, True), (MPICH5, 2, False)):
            with self.assertRaises(mpi.Unusable):
                compare.check_row(row, library, ranks, pinned)


class Command(unittest.TestCase):
    def compare(self, *arguments):
        return subprocess.run([sys.executable, "-B", PEERS / "compare.py", *arguments],
                              capture_output=True, text=True, check=False, timeout=60)

    def test_what_it_does_not_know(self):
        for arguments, sentence in ((["--only", "lam"], "there is no lam: take some of intel"),
                                    (["--collectives", "scan,max"], "'max' is none of allreduce"),
                                    (["--arrivals", "early"], "'early' is none of balanced"),
                                    (["--buffers", "stack"], "'stack' is none of private")):
            result = self.compare(*arguments)
            self.assertEqual((result.returncode, result.stderr.count(sentence)), (2, 1))

    def test_a_report_of_what_is_there(self):
        with tempfile.TemporaryDirectory() as scratch:
            directory = pathlib.Path(scratch)
            known = [{**row, "sources": compare.fingerprint()}
                     for row in rows(INTEL, PAIR, 8, "near", 0.4, 0.5)
                     + rows(INTEL, SCAN, 8, "near", 0.4, 0.2)]
            other = rows(MPICH5, PAIR, 8, "near", 0.1, 0.5)
            (directory / "rows.jsonl").write_text(
                "".join(json.dumps(row) + "\n" for row in known + other), encoding="utf-8")
            result = self.compare("--report", "--output", scratch, "--environment", scratch,
                                  "--only", "mpich")  # what is there is shown all the same
            self.assertNotIn("Traceback", result.stderr)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("papcoll loses at 1 of 1 points", result.stdout)
            self.assertIn("2 rows of other sources", result.stdout)
            self.assertIn("**0.80**", (directory / "comparison.md").read_text(encoding="utf-8"))
            saved = json.loads((directory / "comparison.json").read_text(encoding="utf-8"))
            self.assertEqual([(p["call"], p["best"]) for p in saved["points"]],
                             [("allreduce", "intel"), ("scan", "intel")])

    def test_kinds_of_buffers_that_papcoll_bench_does_not_offer(self):
        with tempfile.TemporaryDirectory() as scratch:
            bench = pathlib.Path(scratch) / "papcoll-bench"
            bench.write_text("#!/bin/sh\necho '  --buffers private|arena  Where'\n",
                             encoding="utf-8")
            bench.chmod(0o755)
            self.assertEqual(compare.offered(bench, os.environ), {"private", "arena"})


unittest.main()
