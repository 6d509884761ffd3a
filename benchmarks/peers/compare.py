#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares papcoll with other MPI libraries: installs Intel MPI, MPICH 5 and Open MPI 5 in a virtual
environment, builds papcoll-bench for their two ABIs, which the distribution's two have as well, times
each library's collectives beside papcoll's, and writes tables and a plot. Without options: 2 ranks,
balanced, private memory, in about ten minutes."""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import time

import gains
import libraries as mpi
import sweep

PAUSE = 15  # seconds, until the processors may be elsewhere
RUN_LIMIT = 600  # seconds a run of papcoll-bench may take at most
EPILOG = """DIR gets rows.jsonl (a line for each candidate and size, as papcoll-bench gives it), log/,
comparison.md, comparison.json and comparison.png. A second call goes on where the first one stopped:
rows count that were measured with the same sources. Exit status: 0, whoever won; 1 if a library
could not be measured; 2 if the command line is wrong."""


def parser():
    made = argparse.ArgumentParser(description=__doc__, epilog=EPILOG)
    listed = {"type": lambda text: text.split(","), "metavar": "NAME,…"}
    made.add_argument("--output", default="build/peers/results", metavar="DIR",
                      help="(default: %(default)s)")
    made.add_argument("--environment", default="build/peers", metavar="DIR",
                      help="for the virtual environment and the builds (default: %(default)s)")
    made.add_argument("--sources", default=mpi.SOURCES, type=pathlib.Path, metavar="DIR",
                      help="what is built: a checkout of papcoll (default: this one)")
    made.add_argument("--bench", action="append", default=[], type=built, metavar="LIBRARY=FILE",
                      help="a papcoll-bench that was built from these sources already, for mpich or "
                           "openmpi: builds none for that ABI; repeatable")
    made.add_argument("--only", **listed, default=[library.name for library in mpi.LIBRARIES],
                      help="of intel,mpich5,openmpi5,mpich,openmpi (default: all)")
    made.add_argument("--collectives", **listed, default=list(sweep.FORMS),
                      help=f"(default: {','.join(sweep.FORMS)}); also strided, an allreduce of a "
                           "column block")
    made.add_argument("--full", action="store_true",
                      help="2, 4 and 8 ranks, all arrivals, private, arena and registered buffers: "
                           "many hours")
    made.add_argument("--ranks", type=numbers, metavar="N,…", help="(default: 2)")
    made.add_argument("--arrivals", **listed,
                      help=f"of {','.join(sweep.ARRIVALS)} (default: balanced)")
    made.add_argument("--buffers", **listed,
                      help=f"of {','.join(sweep.BUFFERS)} (default: private)")
    made.add_argument("--bytes", default=sweep.SIZES, type=numbers, metavar="BYTES,…",
                      help="(default: nine from 8 to 4194304)")
    made.add_argument("--neighbourhoods", **listed, default=["any"],
                      help="in which each point is to be measured: any (default), near,apart")
    made.add_argument("--time-limit", type=float, metavar="MINUTES",
                      help="for measuring; what is missing then is left to another call (default: "
                           "12; with --full 600)")
    made.add_argument("--point-time", default="500ms", metavar="DURATION",
                      help="for each size and candidate, at most (default: %(default)s)")
    made.add_argument("--jobs", default=os.cpu_count(), type=int, metavar="N", help="of the builds")
    made.add_argument("--quick", action="store_true",
                      help="two sizes and short times: only shows that everything works")
    made.add_argument("--report", action="store_true",
                      help="measure nothing: tables and plot of what is there")
    return made


def built(text):
    """An ABI, by the name of its library, and a program."""
    library, _, file = text.partition("=")
    if library not in ("mpich", "openmpi") or not os.access(file, os.X_OK):
        raise argparse.ArgumentTypeError(f"'{text}' is no mpich=FILE or openmpi=FILE of a program")
    return mpi.named([library])[0].soname, pathlib.Path(file).resolve()


def numbers(text):
    return [int(part) for part in text.split(",")]


def check(arguments):
    for name, usual in (sweep.FULL if arguments.full else sweep.USUAL).items():
        setattr(arguments, name, getattr(arguments, name) or usual)
    if arguments.time_limit is None:
        arguments.time_limit = 600 if arguments.full else 12
    for flag, given, known in (("--collectives", arguments.collectives, sweep.CALLS),
                               ("--arrivals", arguments.arrivals, sweep.ARRIVALS),
                               ("--buffers", arguments.buffers, sweep.BUFFERS),
                               ("--neighbourhoods", arguments.neighbourhoods,
                                (*sweep.NEIGHBOURHOODS, "any"))):
        for name in given:
            if name not in known:
                raise ValueError(f"{flag}: '{name}' is none of {', '.join(known)}")
    if arguments.quick:
        arguments.bytes = sweep.QUICK
    return mpi.named(arguments.only)


def fingerprint(sources):
    """Of what is compiled: rows of other sources are not compared with these."""
    found = hashlib.sha256()
    for room in ("include", "gpu/include", "analysis/include", "benchmarks"):
        for file in sorted((sources / room).rglob("*.[hci]pp")):
            found.update(file.read_bytes())
    return found.hexdigest()[:12]


class Rows:
    """The rows in the file, of these sources, and new ones. Quick ones count among themselves."""

    def __init__(self, file, sources, quick):
        self.file = file
        self.common = {"sources": fingerprint(sources), "quick": quick}
        found = []
        if file.exists():
            found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self.all = [row for row in found if row.items() >= self.common.items()]
        self.others = len(found) - len(self.all)

    def add(self, rows):
        rows = [{**self.common, **row} for row in rows]
        self.all += rows
        with self.file.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class Bench:
    """papcoll-bench under one library."""

    def __init__(self, library, program, home, arguments, processors):
        self.library = library
        self.program = program
        self.home = home
        self.arguments = arguments
        self.processors = processors

    def start(self, ranks, pinned, options):
        """The rows of one run, and why there are no more."""
        crowded = ranks > self.processors
        command, more = mpi.launch(self.library, self.home, ranks, pinned, crowded,
                                   os.geteuid() == 0)
        around = {**os.environ, **mpi.environment(self.library, self.home), **more}
        command += [str(self.program), *options]
        status, text, complaint = bounded(command, around)
        problem = None
        if status != 0:
            log = self.home.directory / "log" / f"{self.library.name}.run.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(f"{command}\n{text}\n{complaint}\n", encoding="utf-8")
            problem = f"{status} of {self.library.title}: see {log}"
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        for row in rows:
            check_row(row, self.library, ranks, pinned)
        return rows, problem

    def measure(self, setting, sizes, spread):
        crowded = setting.ranks > self.processors
        load = os.getloadavg()[0]
        begun = time.time()
        how_long = sweep.effort(sizes, crowded, self.arguments.quick, self.arguments.point_time)
        rows, problem = self.start(setting.ranks, setting.pinned,
                                   sweep.bench_options(setting, sizes, spread, crowded, how_long))
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        return [{"library": self.library.name, "call": setting.call, "kind": setting.buffers,
                 "binding": "pinned" if setting.pinned else "free", "time": now, "load": load,
                 "seconds": round(time.time() - begun, 1), **row} for row in rows], problem

    def neighbourhood(self):
        """Where the processors are now. Throws Unusable."""
        pinned = self.processors >= 2
        rows, problem = self.start(2, pinned, ["barrier", "--algorithm", "auto", "--iterations",
                                               "2", "--warmup", "0", "--json"])
        if problem:
            raise mpi.Unusable(problem)
        return rows[0]["neighbourhood"]


def check_row(row, library, ranks, pinned):
    """That what was started is what was meant."""
    if row["ranks"] != ranks:
        raise mpi.Unusable(f"{library.title} started {row['ranks']} ranks together, not {ranks}")
    if not row["mpi_library"].startswith(library.says):
        raise mpi.Unusable(f"{library.title}: what ran is {row['mpi_library']}")
    if row["pinned"] != pinned:
        raise mpi.Unusable(f"{library.title}: ranks were {'not ' if pinned else ''}pinned")


def bounded(command, around):
    """Status or "time is up", standard output and standard error. What takes too long is ended with
    all that it started."""
    with subprocess.Popen(command, env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, start_new_session=True) as job:
        try:
            text, complaint = job.communicate(timeout=RUN_LIMIT)
            return job.returncode and f"exit status {job.returncode}", text, complaint
        except BaseException as problem:
            os.killpg(job.pid, signal.SIGTERM)
            try:
                text, complaint = job.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                text, complaint = job.communicate()
            if not isinstance(problem, subprocess.TimeoutExpired):
                raise
            return "time is up", text, complaint


def prepare(wanted, home, arguments):
    """The libraries that can be measured, and what is to be said of the others."""
    processors = len(os.sched_getaffinity(0))
    ready, notes = [], []

    def left_out(problem):
        notes.append(f"left out: {problem}")
        print(f"compare.py: {notes[-1]}", file=sys.stderr)

    def usable(library, step):
        try:
            step(library)
            return True
        except mpi.Unusable as problem:
            left_out(problem)
            return False

    installed = [library for library in wanted
                 if usable(library, lambda library: mpi.install(library, home))]
    programs = dict(arguments.bench)
    for soname in dict.fromkeys(library.soname for library in installed):
        if soname not in programs:
            try:
                programs[soname] = mpi.build(mpi.builder(soname, installed), home,
                                             arguments.sources, arguments.jobs)
            except mpi.Unusable as problem:
                left_out(problem)
    for library in installed:
        program = programs.get(library.soname)
        if program and usable(library, lambda library: mpi.check_loaded(library, home, program)):
            ready.append(Bench(library, program, home, arguments, processors))
    return ready, notes


class Session:
    """Measures what is missing until nothing is, or the time is up."""

    def __init__(self, ready, wanted_settings, rows, arguments):
        self.ready = ready
        self.settings = wanted_settings
        self.rows = rows
        self.arguments = arguments
        self.failed = {}  # what is not tried again, and why
        self.end = time.monotonic() + 60 * arguments.time_limit

    def left(self):
        """What is missing, by setting and library."""
        seen = sweep.measured(self.rows.all)
        for setting in self.settings:
            sizes = sweep.served(setting, self.arguments.bytes)
            here = [bench for bench in self.ready
                    if (setting, bench.library.name) not in self.failed]
            for bench in here:
                missing = sweep.missing(setting, bench.library.name,
                                        [each.library.name for each in here], sizes, seen,
                                        self.arguments.neighbourhoods)
                if missing:
                    yield setting, bench, missing

    def run(self):
        while time.monotonic() < self.end:
            left = list(self.left())
            if not left:
                return
            where = self.ready[0].neighbourhood()
            # Anything done shows anew where the processors are, and what is left.
            if not self.round(left, where):
                count = sum(len(missing) for _, _, missing in left)
                print(f"  the processors are {where}; {count} points are still to be measured in "
                      "the other neighbourhood", file=sys.stderr, flush=True)
                time.sleep(min(PAUSE, max(0, self.end - time.monotonic())))

    def round(self, left, where):
        """Measures each that is due; False if none is."""
        done = False
        for setting, bench, missing in left:
            for sizes, spread in sweep.runs_of(setting, sweep.due(missing, where)):
                if time.monotonic() > self.end:
                    return True
                done = True
                print(f"  {where}: {setting}, {bench.library.title}, "
                      f"{', '.join(map(gains.size_label, sizes))}", file=sys.stderr, flush=True)
                try:
                    rows, problem = bench.measure(setting, sizes, spread)
                except mpi.Unusable as other:
                    rows, problem = [], other
                self.rows.add(rows)
                if problem:
                    print(f"compare.py: {setting}: {problem}", file=sys.stderr)
                    self.failed[setting, bench.library.name] = f"{setting}: {problem}"
                    break
                where = rows[-1]["neighbourhood"]
        return done

    def notes(self):
        count = sum(len(missing) for _, _, missing in self.left())
        unfinished = [f"{count} points of a library are still to be measured: call again"] \
            if count else []
        return [*self.failed.values(), *unfinished]


def processor_name():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
        return re.search(r"model name\s*:\s*(.*)", text).group(1)
    except (OSError, AttributeError):
        return platform.machine()


def about(rows):
    """Lines on machine, date and libraries."""
    times = sorted(row["time"] for row in rows)
    versions = dict(sorted({row["library"]: row["mpi_library"] for row in rows}.items()))
    release = platform.release().split("-")[0]
    return [f"- {processor_name()}, {len(os.sched_getaffinity(0))} processors, Linux {release}",
            f"- measured from {times[0]} to {times[-1]}, sources {rows[0]['sources']}",
            f"- {'; '.join(f'{name}: {version}' for name, version in versions.items())}"]


def write(rows, wanted, notes, directory, python):
    measured = {row["library"] for row in rows}
    wanted = [library for library in mpi.LIBRARIES
              if library in wanted or library.name in measured]
    found = gains.points(rows)
    if not found:
        raise ValueError("nothing has been measured yet")
    head = gains.head(found, wanted, about(rows), notes)
    page = "\n".join([*head, "## Points that papcoll loses", "", *gains.lost(found, wanted), "",
                      "## Every point", "", *gains.table(found, wanted), ""])
    (directory / "comparison.md").write_text(page, encoding="utf-8")
    text = json.dumps({"about": about(rows), "notes": notes, "points": found}, ensure_ascii=False,
                      indent=1)
    (directory / "comparison.json").write_text(text + "\n", encoding="utf-8")
    print("\n".join(head))
    if all(p["bytes"] == 0 for p in found):
        return
    drawer = pathlib.Path(__file__).with_name("plot_gains.py")
    drawn = subprocess.run([python if python.exists() else sys.executable, drawer,
                            directory / "comparison.json", directory / "comparison.png"],
                           check=False)
    if drawn.returncode != 0:
        print("compare.py: nothing was drawn", file=sys.stderr)


def main():
    arguments = parser().parse_args()
    try:
        wanted = check(arguments)
    except ValueError as problem:
        print(f"compare.py: {problem}", file=sys.stderr)
        return 2
    home = mpi.Home(arguments.environment)
    directory = pathlib.Path(arguments.output)
    directory.mkdir(parents=True, exist_ok=True)
    rows = Rows(directory / "rows.jsonl", arguments.sources, arguments.quick)
    notes = []
    if rows.others:
        notes.append(f"{rows.others} rows of other sources, or of --quick, are in {rows.file}, and "
                     "do not count")
    failures = []
    if not arguments.report:
        ready, failures = prepare(wanted, home, arguments)
        if not ready:
            return 1
        settings = sweep.settings(arguments.ranks, arguments.arrivals, arguments.buffers,
                                  ready[0].processors, arguments.collectives)
        session = Session(ready, list(settings), rows, arguments)
        try:
            session.run()
        except mpi.Unusable as problem:
            failures.append(str(problem))
        except KeyboardInterrupt:
            failures.append("interrupted")
        failures += session.failed.values()
        notes += session.notes()
    try:
        write(rows.all, wanted, [*dict.fromkeys(failures + notes)], directory, home.python)
    except ValueError as problem:
        print(f"compare.py: {problem}", file=sys.stderr)
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
