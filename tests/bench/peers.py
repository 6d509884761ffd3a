#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peers.py: benchmarks/peers, as far as it needs neither the network nor an MPI library."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

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
VECTOR = sweep.Setting(2, True, "balanced", "private", "alltoallv")
BARRIER = sweep.Setting(2, True, "balanced", "private", "barrier")
STRIDED = sweep.Setting(2, True, "balanced", "private", "strided")
INTEL, MPICH5, OPENMPI5, MPICH, OPENMPI = mpi.LIBRARIES


def rows(library, setting, size, where, native, papcoll, packed=None, half=0.01):
    """As papcoll-bench and compare.py make them. `half`: the width of half an interval."""
    name = gains.metric_of(setting.arrival)[0]
    common = {"library": library.name, "call": setting.call, "ranks": setting.ranks,
              "kind": setting.buffers, "quick": False, name.replace("_us", "_ci95_us"): half,
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
                         [("near", "intel"), ("apart", "intel")])

    def test_a_neighbourhood_with_fewer_libraries_than_another_is_no_point(self):
        found = gains.points(rows(INTEL, PAIR, 8, "near", 0.4, 0.2)
                             + rows(MPICH5, PAIR, 8, "near", 0.4, 0.2)
                             + rows(MPICH5, PAIR, 8, "apart", 0.4, 0.2)
                             + rows(INTEL, PAIR, 64, "apart", 0.4, 0.2))
        self.assertEqual([(p["neighbourhood"], p["bytes"]) for p in found],
                         [("near", 8), ("apart", 64)])

    def test_late_arrivals_are_compared_by_the_tail(self):
        point, = gains.points(rows(INTEL, LATE, 64, "near", 30, 10, half=1))
        self.assertEqual(point["metric"], "tail_median_us")
        self.assertAlmostEqual(point["gain_ci95"], 3 * (1 / 30**2 + 1 / 10**2) ** 0.5)

    def test_the_first_row_of_a_library_counts(self):
        point, = gains.points(rows(INTEL, PAIR, 8, "near", 0.4, 0.2)
                              + rows(INTEL, PAIR, 8, "near", 9, 9))
        self.assertAlmostEqual(point["gain"], 2)

    def test_a_point_is_lost_beyond_its_interval(self):
        found = gains.points([row for size, half in ((8, 0.01), (64, 0.04), (512, None))
                              for row in rows(INTEL, PAIR, size, "near", 0.95, 1, half=half)])
        self.assertEqual([p["lost"] for p in found], [True, False, False])
        self.assertEqual([gains.shown(p["gain"], p["lost"]) for p in found],
                         ["0.95*", "0.95", "0.95"])
        self.assertEqual([gains.shown(g) for g in (0.999, 1.5, 2.04, 12.3)],
                         ["1.00", "1.50", "2.0", "12"])
        self.assertEqual(gains.lost(found, [INTEL]), [
            "- allreduce, 8, 2 ranks, pinned, balanced, private, near: 0.95 ± 0.01, "
            "Intel MPI 2021.19 0.95 µs, Exchange+ShmTransport 1, bound 0.05"])

    def test_the_table_says_where_each_point_was_measured(self):
        found = gains.points(rows(INTEL, PAIR, 65536, "apart", 9, 10)
                             + rows(MPICH5, LATE, 64, "near", 30, 10))
        head, _, first, second = gains.table(found, [INTEL, MPICH5, OPENMPI5])
        self.assertNotIn(OPENMPI5.title, head)
        self.assertEqual(first, "| allreduce | 2, pinned | balanced | private | 64 k | apart | 266 | "
                                "Intel MPI 2021.19 | 9 | 10 | 0.90* | 0.00 | 0.05 | 0.90 | – |")
        self.assertIn("| allreduce | 8 | one-late | arena | 64 | near | 52 | MPICH 5.0.2 |", second)
        self.assertEqual({line.count("|") for line in (head, first, second)}, {16})

    def test_the_summary_has_a_line_for_each_collective(self):
        found = gains.points(rows(INTEL, SCAN, 8, "near", 4, 1) + rows(INTEL, PAIR, 8, "near", 2, 1)
                             + rows(MPICH5, PAIR, 8, "near", 3, 1)
                             + rows(INTEL, SCAN, 64, "near", 0.5, 1)
                             + rows(INTEL, BARRIER, 0, "near", 1.5, 1))
        self.assertEqual(gains.summary(found, [INTEL, MPICH5]), [
            "| collective | 8 | 64 | least | median | below 1 |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
            "| allreduce | 2.0 |  | 2.0 | 2.0 | 0 |",
            "| barrier |  |  | 1.50 | 1.50 | 0 |",
            "| scan | 4.0 | 0.50* | 0.50* | 2.2 | 1 |", "",
            "- all: least 0.50, median 1.75, 1 of 4 below 1",
            "- over Intel MPI 2021.19 alone: least 0.50, median 1.75, 1 of 4 below 1",
            "- over MPICH 5.0.2 alone: least 3.0, median 3.0, 0 of 1 below 1"])

    def test_a_barrier_alone_has_no_sizes(self):
        found = gains.points(rows(INTEL, BARRIER, 0, "none", 0.9, 1))
        self.assertEqual(gains.summary(found, [])[:3], [
            "| collective | least | median | below 1 |", "| --- | ---: | ---: | ---: |",
            "| barrier | 0.90* | 0.90 | 1 |"])

    def test_the_head_says_whether_processors_share_a_cache(self):
        found = gains.points(rows(INTEL, SCAN, 8, "apart", 4, 1) + rows(INTEL, PAIR, 8, "near", 2, 1)
                             + rows(INTEL, VECTOR, 8, "near", 2, 1))
        text = "\n".join(gains.head(found, [INTEL], ["- a machine"], ["a note"]))
        for sentence in ("## 2 ranks, pinned, balanced, private, near\n\nThe processors share an L3 "
                         "cache (a signal takes 52 ns).\n\n| collective", "share no L3 cache",
                         "--counts power-law", "- a machine\n- a note\n"):
            self.assertIn(sentence, text)
        self.assertNotIn("strided:8:64", text)

    def test_a_strided_call_is_compared_with_packed_copies_as_well(self):
        found = gains.points(rows(INTEL, STRIDED, 64, "near", 9, 4, packed=8)
                             + rows(MPICH5, STRIDED, 64, "near", 10, 5, packed=6)
                             + rows(INTEL, PAIR, 64, "near", 9, 3))
        self.assertEqual([p["gain_over_packed"] for p in found], [None, 6 / 5])
        head, _, first, second = gains.table(found, [INTEL, MPICH5])
        self.assertIn("| bound, µs | over packed | Intel MPI", head)
        self.assertIn("| 0.05 |  | 3.0 | – |", first)
        self.assertIn("| 0.05 | 1.20 | 2.2 | 2.0 |", second)


class Sweep(unittest.TestCase):
    def test_pinned_where_there_are_processors(self):
        found = list(sweep.settings([2, 8], ["balanced", "one-late"], ["private"], 2, ["scan"]))
        self.assertEqual([(s.ranks, s.pinned, s.arrival) for s in found],
                         [(2, True, "balanced"), (2, True, "one-late"), (8, False, "balanced"),
                          (8, False, "one-late")])

    def test_a_barrier_has_neither_buffers_nor_sizes(self):
        found = list(sweep.settings([2], ["balanced"], ["arena", "registered"], 2,
                                    ["scan", "barrier"]))
        self.assertEqual([(s.call, s.buffers) for s in found],
                         [("scan", "arena"), ("barrier", "private"), ("scan", "registered")])
        self.assertEqual(sweep.served(BARRIER, sweep.SIZES), [0])
        self.assertNotIn("--bytes", sweep.bench_options(BARRIER, [0], None, False, []))

    def missing(self, setting, library, sizes, seen, wanted, libraries=("intel", "mpich")):
        return sweep.missing(setting, library, libraries, sizes, seen, wanted)

    def test_what_is_measured_is_not_measured_again(self):
        both = sweep.NEIGHBOURHOODS
        seen = sweep.measured(rows(INTEL, PAIR, 8, "near", 1, 1) + rows(INTEL, PAIR, 16, "mixed", 1, 1)
                              + rows(INTEL, PAIR, 32, "near", 1, 1)[:1]
                              + rows(INTEL, PAIR, 64, "none", 1, 1))
        left = self.missing(PAIR, "intel", [8, 16, 32, 64], seen, both)
        self.assertEqual(left, {8: {"apart"}, 16: set(both), 32: set(both)})
        self.assertEqual(sweep.due(left, "near"), [16, 32])
        self.assertEqual(sweep.due(left, "apart"), [8, 16, 32])
        self.assertEqual(list(self.missing(PAIR, "mpich", [8], seen, ["near"])), [8])

    def test_any_neighbourhood_is_one_in_which_all_libraries_are_measured(self):
        first = rows(INTEL, PAIR, 8, "near", 1, 1) + rows(MPICH, PAIR, 8, "apart", 1, 1)
        seen = sweep.measured(first)
        self.assertEqual(self.missing(PAIR, "intel", [8], seen, ["any"]), {8: {"apart"}})
        self.assertEqual(self.missing(PAIR, "mpich", [8], seen, ["any"]), {8: {"near"}})
        self.assertEqual(self.missing(PAIR, "intel", [8], seen, ["any"], ["intel"]), {})
        seen = sweep.measured(first + rows(INTEL, PAIR, 8, "apart", 1, 1))
        self.assertEqual(self.missing(PAIR, "mpich", [8], seen, ["any"]), {})

    def test_all_libraries_meet_the_same_arrivals(self):
        self.assertEqual(sweep.runs_of(PAIR, [8, 16]), [([8, 16], None)])
        self.assertEqual(sweep.runs_of(PAIR, [8, 2**20]), [([8], None), ([2**20], None)])
        self.assertEqual(sweep.runs_of(PAIR, []), [])
        (sizes, small), (_, large) = sweep.runs_of(LATE, [8, 2**20])
        self.assertEqual((sizes, small), ([8], 10.0))
        self.assertGreater(large, 4000)

    def test_options_of_papcoll_bench(self):
        text = " ".join(sweep.bench_options(PAIR, [8, 16], None, False, []))
        self.assertIn("--algorithm mpi auto --bytes 8,16 --arrival balanced --buffers private "
                      "--start clock --delay busy", text)
        text = " ".join(sweep.bench_options(LATE, [8], 10.0, True, ["--warmup", "10"]))
        self.assertIn("--buffers arena --start barrier --delay sleep", text)
        self.assertTrue(text.endswith("--warmup 10 --spread 10.0us"))


    def test_ranks_learn_before_anything_is_counted(self):
        for sizes, crowded, iterations in (([8, 64], False, 10000), ([8], True, 1000),
                                           ([2**20], False, 400)):
            self.assertEqual(" ".join(sweep.effort(sizes, crowded, False, "500ms")),
                             f"--iterations {iterations} --warmup 200 --precision 0 --time-limit 500ms")
        self.assertIn("--warmup 2 ", " ".join(sweep.effort([8], False, True, "500ms")))

    def test_what_is_called(self):
        found = list(sweep.settings([2], ["balanced"], ["private"], 2, ["scan", "alltoallv"]))
        self.assertEqual([s.call for s in found], ["scan", "alltoallv"])
        text = " ".join(sweep.bench_options(found[1], [8], None, False, []))
        self.assertTrue(text.startswith("alltoallv --algorithm mpi auto --bytes 8"), text)
        text = " ".join(sweep.bench_options(STRIDED, [64], None, False, []))
        self.assertTrue(text.startswith("allreduce --layout strided:8:64 --algorithm mpi mpi:packed "
                                        "auto --bytes 64"), text)
        self.assertEqual(sweep.served(SCAN, [8, 64]), [8, 64])
        self.assertEqual(sweep.served(STRIDED, sweep.QUICK), [2**16])
        self.assertEqual(sweep.setting_of(rows(INTEL, STRIDED, 64, "near", 1, 1)[0]), STRIDED)


class Launching(unittest.TestCase):
    def setUp(self):
        self.home = mpi.Home("/somewhere")

    def launch(self, library, *arguments):
        command, more = mpi.launch(library, self.home, *arguments)
        return " ".join(command[1:]), more

    def test_each_finds_its_own_launcher_and_library_first(self):
        for library in (INTEL, MPICH5, OPENMPI5):
            own = f"/somewhere/venv/mpi/{library.name}"
            around = mpi.environment(library, self.home)
            self.assertEqual(around["PATH"].split(":")[0], f"{own}/bin")
            self.assertEqual(around["LD_LIBRARY_PATH"].split(":")[0], f"{own}/lib")
            self.assertEqual(mpi.launch(library, self.home, 2, True, False, True)[0][0],
                             f"{own}/bin/mpirun")

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
                self.assertIn("-genv LD_PRELOAD /somewhere/names/mpich_yield.so -n 8", command)
            finally:
                os.environ["PATH"] = before

    def test_the_distributions_library_gets_the_name_of_its_abi(self):
        with tempfile.TemporaryDirectory() as scratch:
            directory = pathlib.Path(scratch)
            (directory / "libmpi.so").write_text("another", encoding="utf-8")
            (directory / "libmpich.so.12.2").write_text("MPICH", encoding="utf-8")
            (directory / "libmpich.so").symlink_to("libmpich.so.12.2")
            for name, text in (("mpirun.mpich", ""), ("mpicxx.mpich",
                                                      f"g++ -L{scratch} -lmpichcxx -lmpich")):
                (directory / name).write_text(f"#!/bin/sh\necho {text}\n", encoding="utf-8")
                (directory / name).chmod(0o755)
            before = os.environ["PATH"]
            os.environ["PATH"] = scratch + ":" + before
            try:
                mpi.link(MPICH, mpi.Home(directory / "home"))
            finally:
                os.environ["PATH"] = before
            made = directory / "home" / "names" / "mpich" / "libmpi.so.12"
            self.assertEqual(made.resolve().name, "libmpich.so.12.2")

    def test_one_build_serves_all_libraries_of_an_abi(self):
        self.assertEqual([library.soname for library in mpi.LIBRARIES],
                         ["libmpi.so.12"] * 2 + ["libmpi.so.40", "libmpi.so.12", "libmpi.so.40"])
        for soname, installed, by in (("libmpi.so.12", mpi.LIBRARIES, MPICH5),
                                      ("libmpi.so.12", [INTEL, MPICH, OPENMPI], INTEL),
                                      ("libmpi.so.40", mpi.LIBRARIES, OPENMPI),
                                      ("libmpi.so.40", [INTEL, OPENMPI5], OPENMPI5)):
            self.assertEqual(mpi.builder(soname, installed), by)

    def test_a_program_that_loads_another_library_is_refused(self):
        with tempfile.TemporaryDirectory() as scratch:
            with self.assertRaises(mpi.Unusable):
                mpi.check_loaded(INTEL, mpi.Home(scratch), sys.executable)

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
                                    (["--buffers", "stack"], "'stack' is none of private"),
                                    (["--bench", "intel=/bin/true"], "is no mpich=FILE"),
                                    (["--bench", "mpich=/no/such"], "is no mpich=FILE")):
            result = self.compare(*arguments)
            self.assertEqual((result.returncode, result.stderr.count(sentence)), (2, 1))

    def test_a_report_of_what_is_there(self):
        with tempfile.TemporaryDirectory() as scratch:
            directory = pathlib.Path(scratch)
            known = [{**row, "sources": compare.fingerprint(mpi.SOURCES)}
                     for row in rows(INTEL, PAIR, 8, "near", 0.4, 0.5)
                     + rows(INTEL, SCAN, 8, "near", 0.4, 0.2)]
            other = rows(MPICH5, PAIR, 8, "near", 0.1, 0.5)
            (directory / "rows.jsonl").write_text(
                "".join(json.dumps(row) + "\n" for row in known + other), encoding="utf-8")
            result = self.compare("--report", "--output", scratch, "--environment", scratch,
                                  "--only", "mpich")  # what is there is shown all the same
            self.assertNotIn("Traceback", result.stderr)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("2 rows of other sources", result.stdout)
            self.assertIn("| allreduce | 0.80* | 0.80* | 0.80 | 1 |", result.stdout)
            self.assertIn("| allreduce | 2, pinned | balanced",
                          (directory / "comparison.md").read_text(encoding="utf-8"))
            saved = json.loads((directory / "comparison.json").read_text(encoding="utf-8"))
            self.assertEqual([(p["call"], p["best"]) for p in saved["points"]],
                             [("allreduce", "intel"), ("scan", "intel")])

    def test_what_a_run_said_before_it_failed_is_kept(self):
        text = json.dumps({"ranks": 2, "mpi_library": "MPICH 5.0.2", "pinned": True})
        with tempfile.TemporaryDirectory() as scratch:
            bench = compare.Bench(MPICH5, "papcoll-bench", mpi.Home(scratch), None, 2)
            command = ["sh", "-c", f"echo '{text}'; exit 3"]
            with unittest.mock.patch.object(mpi, "launch", lambda *_: (command, {})):
                found, problem = bench.start(2, True, [])
            self.assertEqual(len(found), 1)
            self.assertIn("exit status 3 of MPICH 5.0.2: see", problem)


unittest.main()
