# SPDX-License-Identifier: BSD-3-Clause
"""How cases of profile_test.py compile programs, run them under papcoll-profile, and read traces."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interpose"))
import jobs  # noqa: E402
from jobs import check  # noqa: E402

# A program of the cases counts these on each rank, see calls_mpif.f90.
CALLS = {"Allreduce": 6, "Bcast": 1, "Barrier": 1, "Allreduce(I)": 1}
ENDED = {"running": "0", "finalizing": "1", "finished": "2", "exited": "3", "aborted": "4"}


class Job(jobs.Job):
    """With a directory of traces."""

    def __init__(self, options, directory):
        super().__init__(options, directory, HERE)
        self.traces = self.directory / "traces"

    def run(self, command, options=(), environment=None, status=0, timeout=120):
        """Under papcoll-profile; what it printed."""
        done = subprocess.run(
            [self.options.profile, "--output", str(self.traces), "--no-report", *options, *command],
            env={**os.environ, **(environment or {})}, capture_output=True, text=True,
            timeout=timeout, check=False, cwd=self.directory)
        if status is not None:
            check(done.returncode == status,
                  f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def counts(self):
        """rank → name → what the traces hold."""
        done = subprocess.run([self.options.counts, str(self.traces)], capture_output=True,
                              text=True, check=True)
        ranks = collections.defaultdict(dict)
        for line in done.stdout.splitlines():
            rank, name, rest = line.split(" ", 2)
            ranks[int(rank)].setdefault(name, rest)
        return ranks

    def report(self, may_fail=False):
        """What papcoll report says: its exit status, text and JSON."""
        file = self.directory / "report.json"
        done = subprocess.run([self.options.papcoll, "report", str(self.traces),
                               f"--json={file}"], capture_output=True, text=True, check=False)
        check(done.returncode in (0, 1) or may_fail, done.stderr)
        if done.returncode == 2:
            return 2, done.stderr, {}
        return done.returncode, done.stdout, json.loads(file.read_text())

    def calls(self, rank=0):
        return {k: int(v) for k, v in self.counts()[rank].items() if k[0].isupper()}


def same_as_printed(job, out):
    """What every rank printed is what its trace holds."""
    printed = sorted(line for line in out.splitlines() if line)
    held = sorted(f"{rank} {name} {n}" for rank, names in job.counts().items()
                  for name, n in names.items() if name[0].isupper())
    check(printed == held, f"printed, not held: {sorted(set(printed) - set(held))}; "
                           f"held, not printed: {sorted(set(held) - set(printed))}")
    # Members of a communicator know it by the same identity, and have made as many calls on it.
    seen = collections.defaultdict(list)
    for names in job.counts().values():
        for name, text in names.items():
            if name.startswith("communicator."):
                _, size, _, calls = text.split()
                seen[name if int(size) > 1 else None].append((int(size), int(calls)))
    for name, members in seen.items():
        check(name is None or (len(members) == members[0][0] and len(set(members)) == 1),
              f"{name}: size and calls by member: {members}")


def told(job, sent, *program):
    """What comes of a job of 3 ranks when papcoll-profile is sent a signal: its status, and what it
    printed."""
    shutil.rmtree(job.traces, ignore_errors=True)
    with subprocess.Popen([job.options.profile, "--output", str(job.traces),
                           *job.launch(3, *program)], stdout=subprocess.PIPE,
                          # Open MPI's ranks need a while to say what they were told.
                          env={**os.environ, "OMPI_MCA_odls_base_sigkill_timeout": "1"},
                          stderr=subprocess.STDOUT, text=True) as running:
        deadline = time.monotonic() + 60
        while len(list(job.traces.glob("rank-*.trace"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        running.send_signal(sent)
        out, _ = running.communicate(timeout=60)
    check("3 ranks on 1 node" in out and "still running" not in out, out)
    return running.returncode, out
