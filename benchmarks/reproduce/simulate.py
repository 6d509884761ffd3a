#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program of papcoll, built with -DPAPCOLL_SMPI=ON, on simulated ranks: smpirun with the
settings under which simulated time is exact, on a platform of platforms.py."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile

import platforms

SETTINGS = [
    "smpi/simulate-computation:no",  # only messages and what is charged take time
    "smpi/host-speed:" + platforms.SPEED,
    "smpi/cpu-threshold:0",  # charges below 1 us count, too
    "smpi/bw-factor:0:1.0",
    "smpi/lat-factor:0:1.0",
    "network/crosstraffic:no",
    # SimGrid 3.32's Lazy lets messages under way keep their bandwidth when others join them.
    "network/optim:Full",
    "smpi/test:1e-9",  # charged for every request that is looked at; 0 hangs
    "smpi/iprobe:1e-9",
    "smpi/grow-injected-times:no",
    "smpi/wtime:0",
    "smpi/coll-selector:ompi",  # the default's allgather takes P^3 steps
    "smpi/shared-malloc-blocksize:67108864",
]
QUIET = ["root.thres:warning", "smpi_kernel.thres:error"]


def command(program, ranks, platform_file, host_file, settings=()):
    """The command line of one run; `settings` are SimGrid's, and override those above."""
    changed = {s.split(":", 1)[0] for s in settings}
    kept = [s for s in SETTINGS if s.split(":", 1)[0] not in changed]
    return (["smpirun", "-platform", platform_file, "-hostfile", host_file, "-np", str(ranks)]
            + ["--cfg=" + s for s in [*kept, *settings]] + ["--log=" + q for q in QUIET]
            + list(program))


def run(program, ranks, platform="contention-free", settings=(), gamma=0.0, timeout=None,
        stdout=None, quiet=False):
    """As subprocess.run(), with text. `gamma`: seconds a byte combined; `quiet`: what the run wrote
    to stderr is only in the result. Of a deadlock SMPI tells there only: it becomes a failure."""
    with tempfile.TemporaryDirectory(prefix="papcoll-simulate.") as folder:
        files = platforms.write(platform, ranks, folder)
        environment = {**os.environ, "PAPCOLL_SIMULATED_GAMMA": repr(gamma), "TMPDIR": folder}
        words = command(program, ranks, *files, [*platforms.SETTINGS.get(platform, ()), *settings])
        with subprocess.Popen(words, env=environment, stdout=stdout, stderr=subprocess.PIPE,
                              text=True, start_new_session=True) as process:
            try:
                out, text = process.communicate(timeout=timeout)
            finally:  # smpirun is a shell script: with it goes what it started
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
    if not quiet:
        sys.stderr.write(text)
    status = 1 if "Deadlock detected" in text else process.returncode
    return subprocess.CompletedProcess(words, status, out, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--platform", default="contention-free", choices=platforms.NAMES)
    parser.add_argument("--cfg", action="append", default=[], metavar="KEY:VALUE",
                        help="a setting of SimGrid's; repeatable")
    parser.add_argument("--gamma", type=float, default=0.0, metavar="SECONDS",
                        help="that combining one byte takes")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the run is ended, too
    done = run(arguments.program, arguments.ranks, arguments.platform, arguments.cfg,
               arguments.gamma)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
