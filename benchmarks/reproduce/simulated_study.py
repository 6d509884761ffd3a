# SPDX-License-Identifier: BSD-3-Clause
"""What the studies in simulation have in common: papcoll-bench, built with -DPAPCOLL_SMPI=ON, times
all candidates on simulated ranks; simulated time is exact, so one call of each is enough. Rows are
kept as JSON lines, one file a study, and a run whose rows are there is not repeated."""

import argparse
import dataclasses
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import platforms
import simulate
import simulated_report as report

HERE = pathlib.Path(__file__).resolve().parent
ALPHA = 1.5e-6  # of platforms.contention_free, seconds
BETA = 1 / 16e9  # seconds a byte
GAMMA = 2e-10  # SUARA's, seconds a combined byte
SELECTORS = ["ompi", "mpich", "mvapich2", "impi"]
SIEVED = ("ranks", "collective", "bytes", "algorithm")


@dataclasses.dataclass(frozen=True)
class Run:
    """One smpirun. `setting`: what SMPI's own collective is, under which `mpi` is shown."""
    platform: str
    ranks: int
    collective: str
    sizes: tuple
    algorithms: tuple
    setting: str = ""  # of SimGrid: smpi/coll-selector:mpich, smpi/allreduce:rab…
    gamma: float = GAMMA
    options: tuple = ()  # further ones of papcoll-bench
    in_place: bool = True

    def name_of(self, algorithm):
        return "SMPI " + self.setting.removeprefix("smpi/") if algorithm == "mpi" else algorithm

    def keys(self):
        return {(self.platform, self.ranks, self.collective, size, self.name_of(a), self.gamma,
                 " ".join(self.options))
                for size in self.sizes for a in self.algorithms}


def key_of(row):
    return tuple(row[k] for k in ("platform", "ranks", "collective", "bytes", "algorithm", "gamma",
                                  "options"))


def parser_of(about, ranks, sizes):
    parser = argparse.ArgumentParser(description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="papcoll-bench", metavar="FILE",
                        help="papcoll-bench, from a build with -DPAPCOLL_SMPI=ON")
    parser.add_argument("--output", required=True, metavar="DIR", help="made if it is not there")
    parser.add_argument("--ranks", metavar="P,P…", type=rank_counts,
                        help="(default: " + ",".join(map(str, ranks)) + ")")
    parser.add_argument("--bytes", metavar="BYTES,BYTES…", type=byte_counts,
                        help="as 65536,4M (default: " + ",".join(map(str, sizes)) + ")")
    parser.add_argument("--gamma", type=seconds, default=GAMMA, metavar="SECONDS",
                        help="that combining a byte takes (default: %(default)g)")
    parser.add_argument("--time-limit", type=float, default=600, metavar="SECONDS",
                        help="real ones, for one run; what takes longer is left out and said "
                             "(default: %(default)g)")
    parser.add_argument("--sieve", metavar="FILE",
                        help="the program papcoll: where there are many ranks, only schedules that "
                             "its simulator finds near the best go through SMPI")
    parser.add_argument("--resume", action="store_true", help="keep the rows that DIR has")
    parser.add_argument("--report", action="store_true",
                        help="run nothing: the table and the plots of the rows that DIR has")
    parser.add_argument("--quick", action="store_true", help="few points: only to see it work")
    return parser


def rank_counts(text):
    try:
        counts = tuple(int(item) for item in text.split(","))
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"{text!r}: write numbers, as 16,33") from problem
    for count in counts:
        if not 2 <= count <= platforms.HOSTS:
            raise argparse.ArgumentTypeError(
                f"{count} ranks: the platforms have 2 to {platforms.HOSTS}")
    return counts


def byte_counts(text):
    units = {"": 1, "k": 1 << 10, "m": 1 << 20}
    found = [re.fullmatch(r"([1-9][0-9]*)([km]?)", item.lower()) for item in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r}: write bytes, as 256,64k,4M")
    return tuple(int(match[1]) * units[match[2]] for match in found)


def seconds(text):
    try:
        value = float(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"{text!r}: write seconds, as 2e-10") from problem
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: write seconds, 0 or more")
    return value


def parse(parser):
    """The arguments, and the folder --output, made; ends the program where they will not do."""
    arguments = parser.parse_args()
    if arguments.report:
        if not (pathlib.Path(arguments.output) / "rows.jsonl").exists():
            parser.exit(2, f"--output {arguments.output}: there are no rows to report\n")
        arguments.resume = True
        return arguments
    if shutil.which("smpirun") is None:
        parser.exit(2, "there is no smpirun: install SimGrid (Debian: libsimgrid-dev)\n")
    cure = "build one with `cmake --preset smpi && cmake --build build/smpi --target papcoll-bench`"
    bench = shutil.which(arguments.bench)
    if bench is None:
        parser.exit(2, f"--bench {arguments.bench}: there is no such program: {cure}\n")
    arguments.bench = str(pathlib.Path(bench).resolve())
    trial = trial_of(arguments.bench, "Binomial", "bcast")
    if trial.returncode != 0:
        parser.exit(2, f"--bench {arguments.bench} does not run on simulated ranks: {cure}\n"
                       f"It said: {last_line(trial.stderr)}\n")
    if arguments.sieve and shutil.which(arguments.sieve) is None:
        parser.exit(2, f"--sieve {arguments.sieve}: there is no such program: build papcoll with "
                       "`cmake --preset release && cmake --build build/release --target papcoll`\n")
    pathlib.Path(arguments.output).mkdir(parents=True, exist_ok=True)
    return arguments


def rows_of(arguments):
    return Rows(pathlib.Path(arguments.output) / "rows.jsonl", arguments.resume)


def sieve_of(arguments):
    return Sieve(arguments.sieve, pathlib.Path(arguments.output) / "sieve.jsonl", arguments.resume)


def trial_of(bench, name, collective):
    program = [bench, collective, "--algorithm", name, "--bytes", "64", "--in-place"]
    return simulate.run(program, 4, stdout=subprocess.PIPE, quiet=True)


def known(bench, algorithms, collective="allreduce"):
    """Those of the algorithms that this papcoll-bench has, and that serve the collective."""
    there = []
    for name in algorithms:
        trial = trial_of(bench, name, collective)
        if trial.returncode == 0:
            there.append(name)
        else:
            print(f"left out: {name} for {collective}: {last_line(trial.stderr)}", file=sys.stderr)
    return there


class Sieve:
    """papcoll's own simulator, which takes milliseconds where SMPI takes minutes: only schedules that
    it finds near the best go through SMPI. Its times are kept as JSON lines, too."""

    def __init__(self, tool, file, resume):
        self.tool = tool
        self.file = file
        self.times = {}  # (ranks, collective, bytes, algorithm): seconds
        if resume and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.times[tuple(row[k] for k in SIEVED)] = row["seconds"]
        elif tool:
            file.write_text("", encoding="utf-8")

    def simulate(self, collective, ranks, size, algorithms, window=4, suffix=""):
        """Fills in the times that are missing; of algorithm + suffix, with so many blocks of a
        pipeline in flight."""
        missing = [a for a in algorithms if (ranks, collective, size, a + suffix) not in self.times]
        if not missing:
            return
        program = [self.tool, "simulate", missing[0], "--collective", collective, "--ranks",
                   str(ranks), "--bytes", str(size), "--ports", "shared", "--pipeline-depth", str(window),
                   "--json", "--algorithm", *missing]
        done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True)
        with self.file.open("a", encoding="utf-8") as out:
            for simulated in json.loads(done.stdout):
                key = (ranks, collective, size, simulated["algorithm"] + suffix)
                self.times[key] = simulated["time"]
                out.write(json.dumps(dict(zip(SIEVED, key), seconds=simulated["time"])) + "\n")

    def near_best(self, collective, ranks, size, algorithms, within):
        self.simulate(collective, ranks, size, algorithms)
        times = {a: self.times[ranks, collective, size, a] for a in algorithms}
        return [a for a in algorithms if times[a] <= within * min(times.values())]

    def agreement(self, rows):
        """A sentence: how near both simulators are at the points that both have."""
        apart = [abs(self.times[key] / row["seconds"] - 1) for row in rows.rows.values()
                       if (key := tuple(row[k] for k in SIEVED)) in self.times
                       and row["platform"] == "contention-free"]
        if not apart:
            return ""
        return (f"Both simulators ran {len(apart)} of these calls: papcoll's is "
                f"{statistics.median(apart):.2%} off SMPI in the median, "
                f"{max(apart):.1%} at most.\n")


class Rows:
    """The rows of a study, in memory and in a file."""

    def __init__(self, file, resume):
        self.file = file
        self.rows = {}
        self.left_out = []
        if resume and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.rows[key_of(row)] = row
        else:
            file.write_text("", encoding="utf-8")

    def add(self, run, bench, time_limit):
        """Runs it, unless all its rows are there."""
        if run.keys() <= self.rows.keys():
            return
        program = [bench, run.collective, "--warmup", "0", "--json",
                   *(["--in-place"] if run.in_place else []), *run.options,
                   "--bytes", ",".join(map(str, run.sizes)), "--algorithm", *run.algorithms]
        settings = [run.setting] if run.setting else []
        what = ", ".join([run.platform, f"{run.ranks} ranks", run.collective,
                          " ".join(map(report.in_words, run.sizes)),
                          *map(run.name_of, run.algorithms)])
        print(what, file=sys.stderr, flush=True)
        try:
            done = simulate.run(program, run.ranks, run.platform, settings, run.gamma,
                                timeout=time_limit, stdout=subprocess.PIPE, quiet=True)
        except subprocess.TimeoutExpired:
            self.left_out.append(f"{what}: takes more than {time_limit:g} s")
            return
        if done.returncode != 0:
            self.left_out.append(f"{what}: {last_line(done.stderr)}")
        with self.file.open("a", encoding="utf-8") as out:
            for line in done.stdout.splitlines():
                if not line.startswith("{"):
                    continue  # SMPI's own last words
                bench_row = json.loads(line)
                row = {"platform": run.platform, "ranks": run.ranks, "collective": run.collective,
                       "bytes": bench_row["bytes"],
                       "algorithm": run.name_of(bench_row["algorithm"]), "gamma": run.gamma,
                       "options": " ".join(run.options),
                       "seconds": bench_row["tail_median_us"] * 1e-6,
                       "in_call": bench_row["mean_us"] * 1e-6}
                if bench_row["algorithm"] == "auto":
                    row["chosen"] = bench_row["resolved"].removesuffix("+MpiTransport")
                self.rows[key_of(row)] = row
                out.write(json.dumps(row) + "\n")

    def points(self, **fixed):
        """{(platform, ranks, collective, bytes, options): {algorithm: row}}"""
        found = {}
        for row in self.rows.values():
            if all(row[k] == v for k, v in fixed.items()):
                point = (row["platform"], row["ranks"], row["collective"], row["bytes"],
                         row["options"])
                found.setdefault(point, {})[row["algorithm"]] = row
        return dict(sorted(found.items()))


def last_line(text):
    lines = [line for line in text.splitlines() if "CRITICAL" in line or line.startswith("papcoll")]
    lines += text.splitlines()[-1:]
    return lines[0].strip() if lines else "failed"
