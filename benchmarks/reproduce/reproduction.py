# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts of this directory have in common: a study of the thesis is measured with
papcoll-bench, all candidates in one run for each maximum imbalance factor (MIF), and compared."""

import argparse
import dataclasses
import math
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import comparison
from comparison import plot

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
METRICS = {"mean": "time in the call: mean over the ranks, mean",
           "median": "time in the call: mean over the ranks, median",
           "tail-mean": "time from the last arrival to the last exit: mean",
           "tail": "time from the last arrival to the last exit: median"}
# With yet more ranks than processors the scheduler alone would be timed.
MOST_OVERSUBSCRIBED = 8
YIELD = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]  # Open MPI


class BadInput(Exception):
    """Of the command line or the files: exit status 2."""


class Failed(Exception):
    """What was started failed, or skips itself: exit status `status`."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Names as papcoll-bench knows them."""
    references: tuple  # what the thesis compares with
    thesis: str  # the thesis's own algorithm
    others: tuple  # further ones

    def names(self):
        return [*self.references, self.thesis, *self.others]


@dataclasses.dataclass(frozen=True)
class Study:
    """A family of figures."""
    name: str  # of its part of published.json
    title: str
    about: str  # for --help
    candidates: dict  # of each collective
    sizes: str
    quick_sizes: str
    mifs: tuple
    ranks: int  # the thesis's; where it has several numbers, the smallest


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the ranks run."""
    launch: list  # the words of a command, up to that which it starts
    ranks: int
    text: str  # in words
    oversubscribed: bool
    bench_options: tuple = ()
    arrival: str = "uniform"


def parser_of(study):
    parser = argparse.ArgumentParser(
        description=study.about, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="DIR gets the raw results (JSON lines, a file a run), the plots, and "
               "comparison.md:\npublished beside measured gains, and every point, with those that "
               "lose.")
    parser.add_argument("--bench", default="papcoll-bench", metavar="FILE",
                        help="papcoll-bench (default: that on the PATH)")
    parser.add_argument("--launcher", default="mpirun", metavar="COMMAND",
                        help="the launcher. Where it is one word, the flags that this machine "
                             "needs are added; otherwise it is taken as it is (default: "
                             "%(default)s)")
    parser.add_argument("--ranks", type=int, metavar="N",
                        help=f"default here: {default_ranks(study)}")
    parser.add_argument("--output", required=True, metavar="DIR", help="made if it is not there")
    parser.add_argument("--bytes", metavar="SIZES",
                        help=f"bytes, as papcoll-bench takes them (default: {study.sizes})")
    parser.add_argument("--mif", metavar="X,X…", type=mifs_of,
                        help="maximum imbalance factors; 0 for balanced arrivals (default: "
                             f"{','.join(f'{mif:g}' for mif in study.mifs)})")
    parser.add_argument("--time-limit", type=float, default=2, metavar="S",
                        help="seconds for each size and candidate (default: %(default)s)")
    parser.add_argument("--metric", default="mean",
                        choices=("mean", "median", "tail-mean", "tail"),
                        help="of the iterations; the thesis has the mean (default), which suffers "
                             "first on a machine that does other things beside. tail-mean and tail "
                             "(the median): from the last arrival to the last exit")
    parser.add_argument("--against", action="append", metavar="NAME",
                        help="show gains over this candidate instead of the thesis's references "
                             "(repeatable)")
    parser.add_argument("--bench-options", default="", metavar="OPTIONS",
                        help="more options for papcoll-bench: --bench-options='--buffers arena --seed 2'")
    parser.add_argument("--resume", action="store_true",
                        help="do not repeat runs whose results are in DIR")
    parser.add_argument("--quick", action="store_true",
                        help="two MIFs, few sizes, 5 iterations: only to see that it works")
    return parser


def mifs_of(text):
    try:
        mifs = [float(item) for item in text.split(",")]
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers") from problem
    if not all(0 <= mif < math.inf for mif in mifs):
        raise argparse.ArgumentTypeError(f"{text!r}: an imbalance factor is 0 or more")
    return mifs


def sizes_of(text):
    """8, 64k or 8:64M (doubling), and lists of these, as papcoll-bench reads them."""
    def number(word):
        shift = 10 * (" KMG".find(word[-1:].upper()) if word else -1)
        return int(word[:-1]) << shift if shift > 0 else int(word)

    sizes = []
    try:
        for item in text.split(","):
            first, _, last = item.partition(":")
            sizes.append(number(first))
            while last and 0 < 2 * sizes[-1] <= number(last):
                sizes.append(2 * sizes[-1])
    except ValueError as problem:
        raise BadInput(f"--bytes: {text!r} is no list of sizes such as 8,64k,1M:16M") from problem
    return sizes


def processors():
    return len(os.sched_getaffinity(0))


def default_ranks(study):
    return min(study.ranks, max(processors(), MOST_OVERSUBSCRIBED))


def ranks_of(arguments, study):
    if arguments.ranks is None:
        return default_ranks(study)
    if arguments.ranks < 2:
        raise BadInput(f"--ranks {arguments.ranks}: at least 2 ranks arrive at different times")
    return arguments.ranks


def launcher_of(arguments):
    words = shlex.split(arguments.launcher)
    if not words or shutil.which(words[0]) is None:
        raise BadInput(f"--launcher: there is no program {arguments.launcher!r}")
    return words


def this_machine(arguments, study):
    """All ranks on the machine that the script runs on."""
    ranks, cores = ranks_of(arguments, study), processors()
    launch = launcher_of(arguments)
    if len(launch) == 1:
        said = subprocess.run([*launch, "--version"], capture_output=True, text=True, check=False)
        if "Open MPI" in said.stdout or "OpenRTE" in said.stdout:
            launch += ["--allow-run-as-root"] if os.geteuid() == 0 else []
            launch += ["--bind-to", "core" if ranks <= cores else "none"]
            launch += YIELD if ranks > cores else []
        elif "HYDRA" in said.stdout and ranks <= cores:
            launch += ["-bind-to", "core"]
    return Place(launch=[*launch, "-n", str(ranks)], ranks=ranks, oversubscribed=ranks > cores,
                 text=f"{ranks} ranks on {cores} processors of one machine")


def that_fit(sizes, ranks):
    """Sizes for which input, output and as much again on its way take at most half of the memory
    that is free."""
    with open("/proc/meminfo", encoding="ascii") as file:
        free = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
    fit = [size for size in sizes if 3 * size * ranks <= free / 2]
    for size in sizes:
        if size not in fit:
            print(f"{plot.size_label(size)} bytes are left out: they do not fit the memory")
    if not fit:
        raise BadInput("--bytes: there is no memory for any of them")
    return fit


def run_bench(place, arguments, collective, names, mif, sizes, result):
    """One run: the candidates take turns, and so meet the same machine and the same arrivals. Its
    results appear only when they are complete."""
    unfinished = result.with_suffix(".unfinished")
    limit = arguments.time_limit
    command = [*place.launch, arguments.bench, collective, "--algorithm", *names,
               "--bytes", ",".join(map(str, sizes)), "--type", "float", *place.bench_options,
               *(["--arrival", place.arrival, "--mif", f"{mif:g}"] if mif > 0 else []),
               # Ranks that compute until they arrive would take the processors of those that came.
               "--delay", "sleep" if place.oversubscribed else "busy",
               "--time-limit", f"{limit:g}s",
               *(["--iterations", "5", "--warmup", "1"] if arguments.quick else []),
               *shlex.split(arguments.bench_options),
               f"--json={unfinished.name}"]
    patience = math.ceil(300 + 5 * limit * len(sizes) * len(names))
    done = subprocess.run(["timeout", "--kill-after=10", str(patience), *command],
                          cwd=result.parent, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == SKIPPED:
        raise Failed(done.stdout.strip(), SKIPPED)
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode} of\n  {shlex.join(command)}")
    unfinished.replace(result)


def measure(study, arguments, place, directory):
    """The rows of each collective and MIF, from runs that are made or are there already."""
    mifs = arguments.mif or ((study.mifs[0], study.mifs[-2]) if arguments.quick
                             else study.mifs)
    sizes = arguments.bytes or (study.quick_sizes if arguments.quick else study.sizes)
    sizes = that_fit(sizes_of(sizes), place.ranks)
    runs = [(collective, candidates.names(), mif)
            for collective, candidates in study.candidates.items() for mif in mifs]
    seconds = sum(arguments.time_limit * len(sizes) * len(names) for _, names, _ in runs)
    print(f"{len(runs)} runs of {len(sizes)} sizes, at most {math.ceil(seconds / 60)} minutes")
    rows_of = {}
    for number, (collective, names, mif) in enumerate(runs, 1):
        result = directory / f"{collective}-mif-{mif:g}.json"
        there = arguments.resume and result.exists()
        print(f"  {number} of {len(runs)}: {collective}, {f'MIF {mif:g}' if mif else 'balanced'}"
              f"{', there already' if there else ''}", flush=True)
        if not there:
            run_bench(place, arguments, collective, names, mif, sizes, result)
        rows = rows_of[collective, mif] = plot.read_rows([str(result)], arguments.metric)
        if (not set(names) <= {row["algorithm"] for row in rows}
                or {row["ranks"] for row in rows} != {place.ranks}):
            raise BadInput(f"{result} has other candidates or another number of ranks: repeat it "
                           "without --resume")
    return rows_of


def report(study, arguments, place, rows_of, directory):
    """The comparison and the plots."""
    references_of = {collective: arguments.against or list(candidates.references)
                     for collective, candidates in study.candidates.items()}
    # The thesis's algorithm first, and references that are none this time last.
    names_of = {collective: [name for name in (c.thesis, *c.others, *c.references)
                             if name not in references_of[collective]]
                for collective, c in study.candidates.items()}
    gains = []
    for (collective, mif), rows in rows_of.items():
        gains += comparison.gains_of(rows, mif, arguments.metric, references_of[collective])
    rows = [row for of_run in rows_of.values() for row in of_run]
    arrivals = ", ".join({row["arrival"] for row in rows} - {"balanced"}) or "balanced"
    where = f"{place.text}, {oversubscription(place, rows)}"
    measured = [f"Measured: {where}; {rows[0]['mpi_library']}",
                f"{METRICS[arguments.metric]} over the iterations",
                f"arrivals: {arrivals}; delays: {rows[0]['delay']}",
                *(f"{name}: the thesis's algorithm is `{study.candidates[name].thesis}`, the "
                  f"references are `{'`, `'.join(references)}`"
                  for name, references in references_of.items())]
    if arguments.quick:
        where += "; QUICK: the numbers mean nothing"
        measured.append("QUICK: 5 iterations; the numbers mean nothing")

    published = comparison.Published(study.name)
    comparison.write(directory / "comparison.md", study.title, measured, published, gains, names_of,
                     place.ranks)
    print(f"{directory / 'comparison.md'}: published and measured")
    try:
        comparison.draw_all(directory, f"{study.title}: {where}", published, gains, names_of,
                            place.ranks)
        print(f"{directory}/*.png: the plots")
    except ImportError as problem:
        print(f"no plots ({problem}): install matplotlib 3.6 or newer (python3-matplotlib) and run "
              "this again with --resume", file=sys.stderr)


def oversubscription(place, rows=()):
    if place.oversubscribed or any(row["oversubscribed"] for row in rows):
        return "OVERSUBSCRIBED: more ranks than processors"
    return "a processor for every rank"


def check_arguments(study, arguments):
    bench = shutil.which(arguments.bench)
    if bench is None:
        raise BadInput(f"--bench: there is no program {arguments.bench!r}: build the target "
                       "papcoll-bench")
    arguments.bench = str(pathlib.Path(bench).resolve())
    if not arguments.time_limit > 0:
        raise BadInput(f"--time-limit {arguments.time_limit:g}: more than 0 seconds")
    for name in arguments.against or ():
        for candidates in study.candidates.values():
            if name not in candidates.names():
                raise BadInput(f"--against {name}: candidates are {' '.join(candidates.names())}")


def reproduce(study, arguments, place_of=this_machine):
    """All of it; `place_of` gets the arguments and the study. Returns the exit status."""
    try:
        check_arguments(study, arguments)
        place = place_of(arguments, study)
        directory = pathlib.Path(arguments.output).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        print(f"{study.title}: {place.text}, {oversubscription(place)}")
        report(study, arguments, place, measure(study, arguments, place, directory), directory)
        return 0
    except (BadInput, plot.BadInput, OSError) as problem:
        print(f"{study.name}: {problem}", file=sys.stderr)
        return 2
    except Failed as problem:
        if problem.status == SKIPPED:
            print(problem)
        else:
            print(f"{study.name}: {problem}", file=sys.stderr)
        return problem.status
