#!/usr/bin/env python3
"""Compares papcoll with other MPI libraries: installs Intel MPI, MPICH 5 and Open MPI 5 in a virtual
environment, builds papcoll-bench for them and for the distribution's two, times each library's
collectives beside papcoll's, and writes a table for each and a plot."""

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
    made.add_argument("--only", **listed, default=[library.name for library in mpi.LIBRARIES],
                      help="of intel,mpich5,openmpi5,mpich,openmpi (default: all)")
    made.add_argument("--collectives", **listed, default=["allreduce"],
                      help=f"of {','.join(sweep.CALLS)} (an allreduce of a column block); default: "
                           "allreduce")
    made.add_argument("--ranks", default="2,4,8", type=numbers, metavar="N,…",
                      help="(default: 2,4,8)")
    made.add_argument("--arrivals", **listed, default=list(sweep.ARRIVALS),
                      help=f"(default: {','.join(sweep.ARRIVALS)})")
    made.add_argument("--buffers", **listed, default=list(sweep.BUFFERS),
                      help=f"(default: {','.join(sweep.BUFFERS)})")
    made.add_argument("--sizes", type=numbers, metavar="BYTES,…",
                      help="for all settings (default: 8 bytes to 1 MB by doubling for ranks that "
                           "arrive together, else seven of these; allreduce: to 64 MB, pinned, and "
                           "else nine sizes up to 16 MB)")
    made.add_argument("--neighbourhoods", **listed, default=list(sweep.NEIGHBOURHOODS),
                      help="in which each point is to be measured: near,apart (default) or any")
    made.add_argument("--time-limit", default=4, type=float, metavar="HOURS",
                      help="for measuring; what is missing then is left out (default: %(default)s)")
    made.add_argument("--point-time", default="500ms", metavar="DURATION",
                      help="for each size and candidate, at most (default: %(default)s)")
    made.add_argument("--jobs", default=os.cpu_count(), type=int, metavar="N", help="of the builds")
    made.add_argument("--quick", action="store_true",
                      help="two sizes and short times, in any neighbourhood: only shows that "
                           "everything works")
    made.add_argument("--report", action="store_true",
                      help="measure nothing: table and plot of what is there")
    return made


def numbers(text):
    return [int(part) for part in text.split(",")]


def check(arguments):
    for flag, given, known in (("--collectives", arguments.collectives, sweep.CALLS),
                               ("--arrivals", arguments.arrivals, sweep.ARRIVALS),
                               ("--buffers", arguments.buffers, sweep.BUFFERS),
                               ("--neighbourhoods", arguments.neighbourhoods,
                                (*sweep.NEIGHBOURHOODS, "any"))):
        for name in given:
            if name not in known:
                raise ValueError(f"{flag}: '{name}' is none of {', '.join(known)}")
    if arguments.quick:
        arguments.neighbourhoods = ["any"]
        arguments.sizes = arguments.sizes or sweep.QUICK
    return mpi.named(arguments.only)


def fingerprint():
    """Of the sources that are compiled: rows of others are not compared with these."""
    found = hashlib.sha256()
    for room in ("include", "analysis/include", "benchmarks"):
        for file in sorted((mpi.SOURCES / room).rglob("*.[hci]pp")):
            found.update(file.read_bytes())
    return found.hexdigest()[:12]


def offered(bench, around):
    """The kinds of buffers that this papcoll-bench offers."""
    text = subprocess.run([bench, "--help"], capture_output=True, text=True, check=False,
                          env=around).stdout
    listed = re.search(r"--buffers\s+([\w|]+)", text)
    return {"private"} | set(listed.group(1).split("|") if listed else [])


class Rows:
    """The rows in the file, of these sources, and new ones."""

    def __init__(self, file):
        self.file = file
        self.sources = fingerprint()
        found = []
        if file.exists():
            found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self.all = [row for row in found if row["sources"] == self.sources]
        self.others = len(found) - len(self.all)

    def add(self, rows):
        self.all += rows
        with self.file.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class Bench:
    """papcoll-bench under one library."""

    def __init__(self, library, home, arguments, processors):
        self.library = library
        self.home = home
        self.arguments = arguments
        self.processors = processors

    def effort(self, crowded):
        if self.arguments.quick:
            return ["--iterations", "20", "--warmup", "2", "--time-limit", "100ms"]
        # A library that does not yield takes milliseconds a call there.
        return ["--time-limit", self.arguments.point_time, *(["--warmup", "10"] if crowded else [])]

    def start(self, ranks, pinned, options):
        """The rows of one run. Throws Unusable."""
        crowded = ranks > self.processors
        command, more = mpi.launch(self.library, self.home, ranks, pinned, crowded,
                                   os.geteuid() == 0)
        around = {**os.environ, **mpi.environment(self.library, self.home), **more}
        command += [str(self.home.bench(self.library)), *options]
        status, text, complaint = bounded(command, around)
        if status != 0:
            log = self.home.directory / "log" / f"{self.library.name}.run.log"
            log.write_text(f"{command}\n{text}\n{complaint}\n", encoding="utf-8")
            raise mpi.Unusable(f"{status} of {self.library.title}: see {log}")
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        for row in rows:
            check_row(row, self.library, ranks, pinned)
        return rows

    def measure(self, setting, sizes, spread):
        crowded = setting.ranks > self.processors
        load = os.getloadavg()[0]
        begun = time.time()
        rows = self.start(setting.ranks, setting.pinned,
                          sweep.bench_options(setting, sizes, spread, crowded,
                                              self.effort(crowded)))
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        return [{"library": self.library.name, "call": setting.call, "kind": setting.buffers,
                 "binding": "pinned" if setting.pinned else "free", "time": now, "load": load,
                 "seconds": round(time.time() - begun, 1), **row} for row in rows]

    def neighbourhood(self):
        """Where the processors are now."""
        pinned = self.processors >= 2
        rows = self.start(2, pinned, ["barrier", "--algorithm", "auto", "--iterations", "2",
                                      "--warmup", "0", "--format", "json"])
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
                job.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
            if not isinstance(problem, subprocess.TimeoutExpired):
                raise
            return "time is up", "", ""


def prepare(wanted, home, arguments):
    """The libraries that can be measured, and what is to be said of the others."""
    processors = len(os.sched_getaffinity(0))
    ready, notes = [], []
    for library in wanted:
        try:
            mpi.install(library, home)
            mpi.build(library, home, arguments.jobs)
            ready.append(Bench(library, home, arguments, processors))
        except mpi.Unusable as problem:
            notes.append(f"left out: {problem}")
            print(f"compare.py: {notes[-1]}", file=sys.stderr)
    return ready, notes


def served(ready, arguments):
    """The settings that papcoll-bench can run, and what is to be said of the others."""
    first = ready[0]
    kinds = offered(first.home.bench(first.library),
                    {**os.environ, **mpi.environment(first.library, first.home)})
    buffers, notes = [], []
    for kind in arguments.buffers:
        if sweep.BUFFERS[kind][1] in kinds:
            buffers.append(kind)
        else:
            notes.append(f"left out: {kind} buffers, which this papcoll-bench does not offer")
            print(f"compare.py: {notes[-1]}", file=sys.stderr)
    return list(sweep.settings(arguments.ranks, arguments.arrivals, buffers, first.processors,
                               arguments.collectives)), notes


class Session:
    """Measures what is missing until nothing is, or the time is up."""

    def __init__(self, ready, wanted_settings, rows, arguments):
        self.ready = ready
        self.settings = wanted_settings
        self.rows = rows
        self.arguments = arguments
        self.failed = {}  # what is not tried again, and why
        self.end = time.monotonic() + 3600 * arguments.time_limit

    def left(self):
        """What is missing, by setting and library."""
        seen = sweep.measured(self.rows.all)
        for setting in self.settings:
            sizes = sweep.served(setting, self.arguments.sizes or sweep.sizes_of(setting))
            for bench in self.ready:
                if (setting, bench.library.name) in self.failed:
                    continue
                missing = sweep.missing(setting, bench.library.name, sizes, seen,
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
                    rows = bench.measure(setting, sizes, spread)
                except mpi.Unusable as problem:
                    print(f"compare.py: {setting}: {problem}", file=sys.stderr)
                    self.failed[setting, bench.library.name] = f"{setting}: {problem}"
                    break
                self.rows.add([{"sources": self.rows.sources, **row} for row in rows])
                where = rows[-1]["neighbourhood"]
        return done

    def notes(self):
        count = sum(len(missing) for _, _, missing in self.left())
        unfinished = [f"the time was up before {count} points of a library were measured in each "
                      "neighbourhood"] if count else []
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
    page = "\n".join([*head, "", *gains.tables(found, wanted), ""])
    (directory / "comparison.md").write_text(page, encoding="utf-8")
    text = json.dumps({"about": about(rows), "notes": notes, "points": found}, ensure_ascii=False,
                      indent=1)
    (directory / "comparison.json").write_text(text + "\n", encoding="utf-8")
    print("\n".join(head))
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
    rows = Rows(directory / "rows.jsonl")
    notes = []
    if rows.others:
        notes.append(f"{rows.others} rows of other sources are in {rows.file}, and do not count")
    failures = []
    if not arguments.report:
        ready, failures = prepare(wanted, home, arguments)
        if not ready:
            return 1
        settings, left_out = served(ready, arguments)
        session = Session(ready, settings, rows, arguments)
        try:
            session.run()
        except mpi.Unusable as problem:
            failures.append(str(problem))
        except KeyboardInterrupt:
            failures.append("interrupted")
        failures += session.failed.values()
        notes += left_out + session.notes()
    try:
        write(rows.all, wanted, [*dict.fromkeys(failures + notes)], directory, home.python)
    except ValueError as problem:
        print(f"compare.py: {problem}", file=sys.stderr)
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
