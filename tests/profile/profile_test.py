#!/usr/bin/env python3
"""profile_test.py --mpi openmpi|mpich --launcher LAUNCHER --profile SCRIPT --counts PROGRAM CASE:
programs under papcoll-profile, and what their traces hold. A case that cannot run here says
SKIPPED and why, and exits with 77.
"""

import collections
import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interpose"))
import jobs  # noqa: E402
from jobs import Skip, check  # noqa: E402

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


def case_all(job):
    """Every collective in every form is counted once, on all ranks."""
    program = job.compiled("all_collectives.cpp")
    for ranks in (1, 3):
        same_as_printed(job, job.run(job.launch(ranks, program)).stdout)
    for values in job.counts().values():
        check(values["state"] == ENDED["finished"], values)
        check(values["lost"] == "0", values)
    same_as_printed(job, job.run(job.launch(2, program, "threads")).stdout)
    check(job.counts()[0]["threads"] == "4", job.counts()[0])


def case_sizes(job):
    """Of each collective the bytes are noted that docs/profile.md says, also without a root."""
    program = job.compiled("sizes.cpp")
    for ranks in (2, 3):
        printed = sorted(job.run(job.launch(ranks, program)).stdout.splitlines())
        held = sorted(f"{rank} {name} {n}" for rank, names in job.counts().items()
                      for name, n in names.items() if name.startswith("bytes."))
        check(printed == held, f"printed, not held: {sorted(set(printed) - set(held))}; "
                               f"held, not printed: {sorted(set(held) - set(printed))}")


def case_each_rank(job):
    """The launcher before papcoll-profile, and a profile without a launcher."""
    program = job.compiled("all_collectives.cpp")
    done = subprocess.run(
        job.launch(2, job.options.profile, "--output", str(job.traces), program),
        capture_output=True, text=True, check=True, cwd=job.directory)
    same_as_printed(job, done.stdout)
    shutil.rmtree(job.traces)
    job.run_examples(job.options.profile, program)
    # As an interactive user does: one process, by no launcher.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI"))}
    done = subprocess.run([job.options.profile, "--output", str(job.traces), program],
                          capture_output=True, text=True, check=True, env=environment)
    same_as_printed(job, done.stdout)


def case_header(job):
    """The same by a header in one file of the program."""
    source = job.directory / "recorded.cpp"
    source.write_text("#include <papcoll/profile/record_mpi.hpp>\n")
    program = job.directory / "recorded"
    subprocess.run([job.wrapper("mpicxx"), "-std=c++20", "-O1", "-g", "-Wall", "-Wextra",
                    "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-pthread",
                    "-I", str(HERE.parent.parent / "include"),
                    "-I", str(HERE.parent.parent / "analysis/include"), str(source),
                    str(HERE / "all_collectives.cpp"), "-o", str(program), "-ldl"], check=True)
    done = subprocess.run(job.launch(3, str(program)), capture_output=True, text=True, check=True,
                          env={**os.environ, "PAPCOLL_PROFILE_OUTPUT": str(job.traces)})
    same_as_printed(job, done.stdout)


def case_fortran(job):
    """mpif.h and mpi_f08: each call once, at its own place in the program."""
    for source in ("calls_mpif.f90", "calls_f08.f90"):
        program = job.compiled(source)
        job.run(job.launch(2, program))
        check(job.calls() == CALLS, job.calls())
        check(job.counts()[0]["module"] == program, job.counts()[0])


def case_python(job):
    """mpi4py, which opens its MPI library so that nobody else sees it."""
    job.run(job.launch(2, *job.python("calls.py")))
    held = job.calls()
    # Its own are beside the program's: it makes itself a communicator, for one.
    _, out, _ = job.report()
    check(f"{HERE / 'calls.py'}:" in out, out)
    check({k: held[k] for k in CALLS} == CALLS, held)


def case_other_tool(job):
    """With another tool of the profiling interface, whichever is loaded first."""
    tool = job.compiled("other_tool.c", "-shared", "-fPIC")
    program = job.compiled("all_collectives.cpp")
    done = job.run(job.launch(2, program), environment={"LD_PRELOAD": tool})
    same_as_printed(job, done.stdout)
    seen = [line.split()[-1] for line in done.stderr.splitlines() if line.startswith("other tool")]
    # Those of its name; not MPI_Allreduce_c.
    check(seen == ["5", "5"], f"the other tool saw {done.stderr}")
    # First the other, then this one.
    shutil.rmtree(job.traces)
    library = job.options.library
    done = subprocess.run(
        job.launch(2, "env", f"LD_PRELOAD={tool}:{library}", program), capture_output=True,
        text=True, check=True, env={**os.environ, "PAPCOLL_PROFILE_OUTPUT": str(job.traces)})
    # This one sees the barrier that the other makes, too: to it, the other is the program.
    more = re.sub(r" Barrier (\d+)", lambda m: f" Barrier {int(m[1]) + 1}", done.stdout)
    same_as_printed(job, more)
    check("other tool" in done.stderr, done.stderr)


def case_processes(job):
    """Processes of a job that are no MPI programs, and programs that others have started."""
    job.check_other_processes()
    # Programs of one job on both sides of a colon, and a script that runs one.
    program = job.compiled("all_collectives.cpp")
    launch = job.launch(1, "bash", "-c", f"x=$(bash -c 'exit 0'); {program}")
    done = job.run([*launch, ":", "-n", "2", program], options=["--abi", job.mpi])
    same_as_printed(job, done.stdout)


def case_limits(job):
    """Where the size of files is limited, the program runs on without a profile."""
    program = job.compiled("ends.cpp")
    done = job.run(job.launch(1, "bash", "-c", f"ulimit -f 16000; exec {program} fork"),
                   options=["--abi", job.mpi])
    check("ulimit -f leaves no room" in done.stderr, done.stderr)


def case_ends(job):
    """Killed, aborted, gone without MPI_Finalize: the traces say so, and nothing else is left."""
    program = job.compiled("ends.cpp")
    shared = set(os.listdir("/dev/shm"))
    for how, rank, state in (("kill", 1, "running"), ("abort", 1, "aborted"),
                             ("quick", 1, "exited"), ("exit", 1, "running")):
        job.run(job.launch(3, program, how), status=None)
        check(job.counts()[rank]["state"] == ENDED[state], f"{how}: {job.counts()[rank]}")
        check(job.calls(rank) == {"Allreduce": 20}, f"{how}: {job.calls(rank)}")
    # MPI's own files may be left by those it killed, and are not this test's business.
    left = {f for f in set(os.listdir("/dev/shm")) - shared if "papcoll" in f}
    check(not left, f"left in /dev/shm: {left}")
    job.run(job.launch(2, program, "fork"))
    for values in job.counts().values():
        check(values["state"] == ENDED["finished"], f"fork: {values}")
        check(values["Allreduce"] == "25", f"fork: {values}")
    # MPI_Pcontrol(0) pauses recording, on rank 1 a little longer; the calls keep their numbers.
    job.run(job.launch(2, program, "control"))
    check([job.calls(rank)["Allreduce"] for rank in (0, 1)] == [28, 25], job.counts())
    check(any("35" in v.split() for k, v in job.counts()[1].items() if "communicator" in k),
          job.counts()[1])
    status, out, _ = job.report()
    check(status == 0 and "has not come" not in out, out)
    # Its MPI_Finalize went around the recorder, as another program's MPI_Init does.
    check(job.counts()[0]["state"] == ENDED["finished"], job.counts()[0])
    done = job.run([program, "direct_init"])
    check(done.stderr.count("its MPI_Init has not: ") == 1, done.stderr)
    # A signal is the ranks', which ignore none that they would not ignore without papcoll-profile.
    status, out = told(job, signal.SIGUSR1, program, "signal")
    check(status == 0 and out.count(f"told {int(signal.SIGUSR1)}, INT default, QUIT default") == 3,
          f"{status}: {out}")


def case_many(job):
    """Ten million calls stay in the ring, and the sums hold all of them."""
    program = job.compiled("ends.cpp")
    job.run(job.launch(1, program, "many"))
    check(job.calls() == {"Barrier": 10**7}, job.calls())
    check(job.counts()[0]["records"] == f"{2**18} of {10**7}", job.counts()[0])
    check(next(job.traces.iterdir()).stat().st_size < 20 << 20, "the trace has grown")


def case_hang(job):
    """While a program hangs in which a rank left out a call, the report names rank and place."""
    program = job.compiled("ends.cpp")
    with subprocess.Popen([job.options.profile, "--output", str(job.traces), "--no-report",
                           *job.launch(3, program, "skip")], start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            deadline = time.monotonic() + 60
            words = ("rank 1 has not come", "left out", "ends.cpp", "skipped")
            out = ""
            # What is there is reported at any time; not yet all of it, in the beginning.
            while not all(w in out for w in words) and time.monotonic() < deadline:
                time.sleep(0.5)
                if len(list(job.traces.glob("rank-*.trace"))) == 3:
                    status, out, _ = job.report(may_fail=True)
            check(all(w in out for w in words), out)
            check(status == 1, f"papcoll report ended with {status}")
        finally:
            os.killpg(running.pid, signal.SIGKILL)


def late_library(job):
    """Preloaded before the recorder, so that what it adds comes before the call."""
    return job.compiled("late.c", "-O2", "-shared", "-fPIC")


def run_late(job, ranks, program, count, microseconds):
    """Rank 2 comes late to its allreduces of `count` elements; of other programs nobody does."""
    preload = [job.options.library]
    if microseconds:
        preload.insert(0, late_library(job))
    if job.mpi == "mpich":  # whose waiting ranks keep their processor, of which there are too few
        preload.append(job.compiled("../mpich_yield.cpp", "-shared", "-fPIC"))
    shutil.rmtree(job.traces, ignore_errors=True)
    settings = [f"LD_PRELOAD={':'.join(preload)}", f"PAPCOLL_PROFILE_OUTPUT={job.traces}",
                "LATE_RANK=2", f"LATE_COUNT={count}", f"LATE_US={microseconds}"]
    done = subprocess.run(job.launch(ranks, "env", *settings, *program), capture_output=True,
                          text=True, check=False, cwd=job.directory)
    check(done.returncode == 0, done.stdout + done.stderr)
    return job.report()


def check_named(report, function, seconds):
    """Rank 2 is named first, at this place, and Ω there is no less than it was made late."""
    _, out, found = report
    named = [(s["rank"], s["place"]) for s in found["stragglers"]]
    check(named and named[0][0] == 2 and function in named[0][1], f"{named}\n{out}")
    row = next(p for p in found["places"] if function in p["place"])
    # How much more depends on what else the machine does.
    check(row["omega_p50"] >= 0.99 * seconds, f"Ω is {row['omega_p50']} s\n{out}")


def check_balanced(job, program):
    """Nobody is named, in one of several runs: the machine may make a rank late, and it is."""
    for _ in range(4):
        _, out, found = run_late(job, 4, program, 0, 0)
        if not found["stragglers"]:
            return
    raise AssertionError(out)


def case_late(job):
    """A rank that is made late at one place is named, with that place, and in no other run."""
    program = [job.compiled("steps.cpp"), "300"]
    check_named(run_late(job, 4, program, 3, 2000), "energies", 2e-3)
    check_balanced(job, program)


def case_lammps(job):
    """The same of a program that is not ours."""
    lmp = shutil.which("lmp")
    if lmp is None or job.mpi != "openmpi":
        raise Skip("there is no lmp" if lmp is None else "the system's lmp is for Open MPI")
    (job.directory / "in.melt").write_text(
        "units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 8 0 8 0 8\n"
        "create_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\nvelocity all create 3.0 87287 loop geom\n"
        "pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\n"
        "neigh_modify every 20 delay 0 check no\nfix 1 all nve\nthermo 5\nrun 600\n")
    program = [lmp, "-in", "in.melt", "-log", "none"]
    # Only Thermo::lost_check() sums two numbers.
    check_named(run_late(job, 4, program, 2, 2000), "Thermo::lost_check", 2e-3)
    check_balanced(job, program)


def small_file_system(job, name):
    """The words before a command that sees a directory of the test's as a file system of 1 MB, so
    that no other test meets it; nothing if that may not be mounted."""
    full = job.directory / name
    full.mkdir()
    mounted = ["unshare", "-rm", "sh", "-c",
               f'mount -t tmpfs -o size=1m tmpfs {full} && exec "$@"', "sh"]
    try:
        subprocess.run([*mounted, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("left out: no leave to mount a small file system")
        return []
    return mounted


def check_full(job, program):
    """A file system without room for the traces."""
    mounted = small_file_system(job, "full")
    if not mounted:
        return
    done = subprocess.run([*mounted, job.options.profile, "--output",
                           str(job.directory / "full" / "traces"), "--no-report",
                           *job.launch(2, program, "fork")],
                          capture_output=True, text=True, check=False, cwd=job.directory)
    check(done.returncode == 0 and "cannot reserve" in done.stderr, done.stderr)


def case_bad(job):
    """What stops a profile is said in a sentence, and the program runs on."""
    program = job.compiled("ends.cpp")
    file = job.directory / "file"
    file.write_text("")
    done = subprocess.run([job.options.profile, "--output", str(file / "below"), program],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 2 and "cannot make the directory" in done.stderr, done.stderr)
    done = job.run(job.launch(2, program, "fork"), environment={"PAPCOLL_PROFILE_RECORD_MIB": "100"})
    check(done.stderr.count("of two from 1 to 65536; the program runs on") == 1, done.stderr)
    # The directory by its variable, which an option goes before.
    for options, name in (((), "by-variable"), (("-o", file.with_name("by-option")), "by-option")):
        done = subprocess.run(
            [job.options.profile, *options, "--abi", job.mpi, "sh", "-c",
             "echo $PAPCOLL_PROFILE_OUTPUT"], capture_output=True, text=True, check=False,
            cwd=job.directory, env={**os.environ, "PAPCOLL_PROFILE_OUTPUT": "by-variable"})
        check(done.stdout == f"{file.with_name(name)}\n", done.stdout + done.stderr)
    # A name like an option's.
    check(job.run(["true"], ["--output", "-x", "--abi", job.mpi]).stderr == "", "--output -x")
    check(not (job.directory / "-x").exists(), "an empty directory is left")
    done = job.run(job.launch(3, program, "fork"), options=["--local-dir", str(file / "below")])
    check(done.stderr.count("cannot make the directory") == 1 and
          "the program runs on without a profile\n" in done.stderr, done.stderr)
    check_full(job, program)
    if os.geteuid() != 0:  # which may do anything
        file.with_name("closed").mkdir(0o600)
        done = job.run([program], ["--output", str(file.with_name("closed"))], status=2)
        check("cannot enter the directory" in done.stderr, done.stderr)
    for arguments, words in ((["--record-mib", "100"], "a power of two"),
                             (["--abi", "y"], "there are openmpi"),
                             (["--nonsense"], "there is no option"),
                             (["/no/program"], "cannot find"),
                             ([str(file)], "may not be run")):
        done = subprocess.run([job.options.profile, *arguments, "true"], capture_output=True,
                              text=True, check=False)
        check(done.returncode == 2 and words in done.stderr, done.stderr)
    own = job.directory / "own"
    subprocess.run(["cc", str(HERE.parent / "preload" / "cases_own_mpi.c"), "-o", str(own)],
                   check=True)
    done = subprocess.run([job.options.profile, str(own)], capture_output=True, text=True,
                          check=False, cwd=job.directory)
    check(done.returncode == 2 and "has MPI within itself" in done.stderr, done.stderr)
    # Programs without MPI, and one that never calls it.
    done = subprocess.run([job.options.profile, "--output", str(job.traces), "--abi", job.mpi, "sh",
                           "-c", "exit 3"], capture_output=True, text=True, check=False)
    check(done.returncode == 3 and done.stderr == "", done.stderr)
    job.run(job.launch(2, program, "no_mpi"))
    check(not list(job.traces.glob("*.trace")), "traces of a program that calls nothing")
    done = job.run(job.launch(2, program, "session"))
    if job.mpi == "mpich":
        check(done.stderr.count("session without MPI_Init") == 1, done.stderr)
    # The other MPI's library.
    other = {"openmpi": "mpich", "mpich": "openmpi"}[job.mpi]
    if (pathlib.Path(job.options.library).parent / f"libpapcoll_profile_{other}.so").exists():
        done = job.run(job.launch(1, program, "fork"), options=["--abi", other], status=None)
        check("choose another by papcoll-profile --abi" in done.stderr, done.stderr)


def case_local(job):
    """Traces are kept elsewhere while the program runs, and brought to their directory."""
    program = job.compiled("ends.cpp")
    local = job.directory / "local"
    # The same directory by another name: they are there already.
    job.run(job.launch(1, program, "fork"), options=["--local-dir", f"{job.directory}/./traces"])
    check([path.suffix for path in job.traces.iterdir()] == [".trace"], list(job.traces.iterdir()))
    job.run(job.launch(2, program, "fork"), options=["--local-dir", str(local)])
    check(job.calls() == {"Allreduce": 25}, job.counts())
    check(not list(local.iterdir()), f"left in {local}")
    check(not list(job.traces.glob("*.elsewhere")), "a note of where they were is left")
    job.run(job.launch(2, program, "kill"), options=["--local-dir", str(local)], status=None)
    traces = sorted(local.glob("rank-*.trace"))
    check(len(traces) == 2, "no traces of a killed program")
    note = next(job.traces.glob("rank-00001-*.elsewhere")).read_text()
    check(note.endswith(f" {traces[1]}\n"), note)
    # The report finds them, and the next job removes them.
    status, out, found = job.report()
    check(status == 1 and len(found["ranks"]) == 2 and "ended early" in out, out)
    job.run(job.launch(1, program, "fork"))
    check(not list(local.iterdir()) and len(list(job.traces.iterdir())) == 1,
          f"left: {list(local.iterdir())} {list(job.traces.iterdir())}")
    # A directory that is removed meanwhile is made again.
    shutil.rmtree(job.traces)
    job.run(job.launch(1, "bash", "-c", f"(until rm {job.traces}/*.trace; do sleep 0.1; done; "
                       f"rm -r {job.traces}; kill -USR1 $$) 2>&- & exec {program} signal"),
            options=["--abi", job.mpi])
    check(job.counts()[0]["state"] == ENDED["finished"], job.counts())
    check_full_at_the_end(job, program, local)


def check_full_at_the_end(job, program, local):
    """A file system without room for the traces that are brought home."""
    mounted = small_file_system(job, "full_at_the_end")
    if not mounted:
        return
    full = job.directory / "full_at_the_end"
    done = subprocess.run([*mounted, "sh", "-c", '"$@" && ls "$0"', str(full),
                           job.options.profile, "--output", str(full), "--local-dir", str(local),
                           *job.launch(2, program, "fork")],
                          capture_output=True, text=True, check=False, cwd=job.directory)
    check(done.returncode == 0 and "the trace stays in" in done.stderr, done.stderr)
    check("2 ranks on 1 node" in done.stdout, done.stdout)
    check(re.search(r"rank-00001-.*\.elsewhere$", done.stdout) and ".trace" not in done.stdout,
          done.stdout)


def in_time_namespaces(job, ranks, seconds):
    """A script that runs its rank in a time namespace: odd ranks' clocks show `seconds` more."""
    try:
        subprocess.run(["unshare", "-T", "--monotonic", "1", "true"], check=True,
                       capture_output=True)
    except (OSError, subprocess.CalledProcessError) as e:
        raise Skip("no leave to make time namespaces") from e
    script = job.directory / "in_namespace.sh"
    script.write_text(
        "#!/bin/sh\n"
        "rank=${OMPI_COMM_WORLD_RANK-${PMI_RANK-}}\n"
        f'if [ $((rank % 2)) -eq 1 ]; then exec unshare -T --monotonic {seconds} "$@"; fi\n'
        'exec "$@"\n')
    script.chmod(0o755)
    return job.launch(ranks, str(script))


def case_clocks(job):
    """Ranks whose clocks differ find by how much, and a drift, within the bound that they state."""
    program = job.compiled("waits.cpp")
    if job.mpi == "mpich":
        # As on two nodes, whose boot ids are the same.
        job.run(job.launch(2, program, "0"), environment={"MPIR_CVAR_ODD_EVEN_CLIQUES": "1"})
        for rank, values in job.counts().items():
            clock, begin, bound, *_ = map(int, values["clocks"].split())
            check(clock == rank and abs(begin) <= bound, values)
            check(int(values["processors"]) == len(os.sched_getaffinity(0)), values)
    seconds = 1000
    launch = in_time_namespaces(job, 4, seconds)
    job.run([*launch, program, "0.2"])
    for rank, values in sorted(job.counts().items()):
        clock, begin, begin_bound, end, end_bound = map(int, values["clocks"].split())
        # Each namespace was made for one rank.
        check(clock == (rank if rank % 2 else 0), values)
        wanted = -seconds * 10**9 if rank % 2 else 0
        check(abs(begin - wanted) <= begin_bound and abs(end - wanted) <= end_bound, values)
        check(rank % 2 == 0 or 0 < begin_bound < 10**8, values)
    drift = job.compiled("drifting_clock.c", "-shared", "-fPIC")
    ppm = 20
    # The launcher hands this library to all ranks; half of them do as it says.
    done = job.run([*launch, "sh", "-c",
                    'rank=${OMPI_COMM_WORLD_RANK-${PMI_RANK-}}; '
                    f'[ $((rank % 2)) -eq 0 ] || export LD_PRELOAD={drift}:$LD_PRELOAD '
                    f'DRIFT_PPM={ppm}; exec "$0" "$@"', program, "2"])
    for rank, values in sorted(job.counts().items()):
        _, begin, begin_bound, end, end_bound = map(int, values["clocks"].split())
        if rank % 2 == 0:
            continue
        times = [line.split() for line in done.stdout.splitlines()]
        run = float(next(t[1] for t in times if int(t[0]) == rank))
        # What the drift adds between the two fits, as long as the program waits at the least.
        found = begin - end
        bound = begin_bound + end_bound
        check(found >= 2e9 * ppm * 1e-6 - bound, f"{values} in {run} s")
        check(found <= run * 1e9 * ppm * 1e-6 + bound, f"{values} in {run} s")


def reported(job, command, options=(), status=0, environment=None):
    """The whole job under papcoll-profile, with the report at its end."""
    done = subprocess.run([job.options.profile, "--output", str(job.traces), *options, *command],
                          capture_output=True, text=True, timeout=120, check=False,
                          cwd=job.directory, env={**os.environ, **(environment or {})})
    check(status is None or done.returncode == status,
          f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def case_wrapped(job):
    """A launcher behind other words, a script, a program that is not there."""
    program = job.compiled("ends.cpp")
    launch = job.launch(2, program, "fork")
    for before in (["env", "A=1"], ["timeout", "60"], ["nice", "-n", "1", "env", "-u", "X"]):
        done = reported(job, [*before, *launch])
        check("2 ranks on 1 node" in done.stdout, f"{before}: {done.stdout}{done.stderr}")
    check(job.calls() == {"Allreduce": 25}, job.calls())
    script = job.directory / "job.sh"
    script.write_text("#!/bin/sh\n" + " ".join(launch) + "\n")
    script.chmod(0o755)
    done = reported(job, [str(script)], ["--abi", job.mpi])
    check("2 ranks on 1 node" in done.stdout, done.stdout + done.stderr)
    # Runs of one job are kept side by side.
    script.write_text("#!/bin/sh\n" + 2 * (" ".join(launch) + "\n"))
    done = reported(job, [str(script)], ["--abi", job.mpi])
    check("of another run than what is told here" in " ".join(done.stdout.split()), done.stdout)
    check(len(list(job.traces.glob("rank-*.trace"))) == 4, list(job.traces.iterdir()))
    # Not that of the job before.
    done = reported(job, ["sh", "-c", "exit 3"], ["--abi", job.mpi], status=3)
    check(done.stdout == "" and done.stderr == "", done.stdout + done.stderr)
    job.check_words(program, job.options.profile, "--no-report", "--output", str(job.traces))
    shutil.rmtree(job.traces)
    done = reported(job, job.launch(2, "/no/program"), status=None)
    check(done.returncode != 0 and not job.traces.exists(), done.stdout + done.stderr)
    check("nothing was recorded" in done.stderr, done.stderr)


def case_together(job):
    """Two jobs that write into one directory have their own reports and traces, also while the
    traces are elsewhere."""
    program = job.compiled("waits.cpp")
    jobs = []
    for ranks in (2, 3):
        local = job.directory / f"local{ranks}"
        jobs.append(subprocess.Popen(
            [job.options.profile, "--output", str(job.traces), "--local-dir", str(local),
             *job.launch(ranks, program, "4")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        deadline = time.monotonic() + 60
        while len(list(local.glob("rank-*.trace"))) < ranks and time.monotonic() < deadline:
            time.sleep(0.1)
    for ranks, running in zip((2, 3), jobs):
        out, _ = running.communicate(timeout=60)
        check(f": {ranks} ranks on 1 node" in out, out)
        check("still running" not in out, out)
    traces = [path.name for path in job.traces.iterdir()]
    check(len(traces) == 5 and all(t.endswith(".trace") for t in traces), traces)


def case_spawn(job):
    """The report is of the program that was started, and names the world that it has spawned."""
    program = job.compiled("spawns.cpp")
    if subprocess.run(job.launch(1, program), capture_output=True, check=False).returncode:
        raise Skip("MPI_Comm_spawn does not work here")
    done = reported(job, job.launch(1, program))
    check(": 1 rank on 1 node" in done.stdout, done.stdout + done.stderr)
    check("2 ranks of spawns-cpp, which MPI_Comm_spawn started" in " ".join(done.stdout.split()),
          done.stdout)
    run = re.search(r"--run\s+([0-9a-f]{16})", done.stdout)[1]
    out = subprocess.run([job.options.papcoll, "report", str(job.traces), "--run", run],
                         capture_output=True, text=True, check=True).stdout
    check("2 ranks on 1 node" in out and "started by MPI_Comm_spawn" in out, out)


def case_other_mpi(job):
    """A program under the launcher of another MPI: that is said."""
    other = {"openmpi": "mpich", "mpich": "openmpi"}[job.mpi]
    launcher = shutil.which(f"mpirun.{other}")
    if launcher is None:
        raise Skip(f"there is no mpirun.{other}")
    program = job.compiled("waits.cpp")
    job.launcher, mpi, job.mpi = launcher, job.mpi, other
    done = reported(job, job.launch(2, program, "1"), ["--abi", mpi], status=None)
    if "recorded for" not in done.stdout:
        raise Skip("the program does not run there at all")
    check("of another MPI library than the program" in " ".join(done.stdout.split()),
          done.stdout + done.stderr)


def case_plugin(job):
    """A library that was opened by a relative path is known from the root."""
    job.compiled("plugin.cpp", "-shared", "-fPIC", "-w", "-Wl,--build-id=none")
    (job.directory / "plugin-cpp").rename(job.directory / "plugin.so")
    host = job.compiled("plugin.cpp", "-DHOST")
    job.run(job.launch(1, host))
    check(job.counts()[0]["module"] == str(job.directory / "plugin.so"), job.counts()[0])
    # Without a build id, the time of the file tells that it is not what was recorded.
    _, out, _ = job.report()
    check("changed since" not in out and "plugin.so+" not in out, out)
    os.utime(job.directory / "plugin.so", (0, 0))
    _, out, _ = job.report()
    check("plugin.so was changed since the run" in " ".join(out.split()) and "plugin.so+" in out,
          out)


def stacked_orders(job, program, after):
    """How the two launchers may stand before a program, and whether a report is printed."""
    run = [job.options.run, "--summary", "--take-over-after", after]
    profile = [job.options.profile, "--output", str(job.traces)]
    launch = job.launch(2, *program)
    before, rest = launch[:-len(program)], launch[-len(program):]
    return {"profile, run, launcher": (profile + run + launch, True),
            "run, profile, launcher": (run + profile + launch, True),
            "words between": (["env", "A=1", *run, "nice", "-n", "1", *profile, "env", "B=1",
                               *launch], True),
            "launcher, profile, run": (before + profile + run + rest, False),
            "launcher, run, profile": (before + run + profile + rest, False),
            "profile, launcher, run": (profile + before + run + rest, True),
            "run, launcher, profile": (run + before + profile + rest, False)}


def check_stacked(job, program, wanted, orders=None):
    """papcoll-run runs the blocking calls of both ranks, and papcoll-profile counts all calls."""
    for order, (command, has_report) in stacked_orders(job, program, "1").items():
        if orders and order not in orders:
            continue
        shutil.rmtree(job.traces, ignore_errors=True)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                              cwd=job.directory)
        said = f"{order}: {done.stdout}{done.stderr}"
        check(done.returncode == 0, said)
        check(("2 ranks on 1 node" in done.stdout) == has_report, said)
        held = job.calls()
        check({k: held.get(k) for k in wanted} == wanted, f"{held}\n{said}")
        run = jobs.summary(done.stderr)
        for name in ("Allreduce", "Bcast", "Barrier"):
            # No more than the program's, on any rank: the recorder's own are none of them.
            calls = sum(int(rank.get(name, 0)) for rank in job.counts().values())
            check(run.get("MPI_" + name) == {"calls": calls, "taken over": calls},
                  f"{name}: {run}\n{said}")


def case_stacked(job):
    """papcoll-profile and papcoll-run at once, in each order: every call is recorded, and taken
    over, by whatever name it is called."""
    check_stacked(job, [job.compiled("calls.c")], CALLS)
    for source in ("calls_mpif.f90", "calls_f08.f90"):
        check_stacked(job, [job.compiled(source)], CALLS,
                      ("profile, run, launcher", "launcher, profile, run"))


def case_stacked_python(job):
    """The same of mpi4py."""
    check_stacked(job, job.python("calls.py"), CALLS,
                  ("profile, run, launcher", "launcher, profile, run"))


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


def status_in_background(job, code):
    """What waitpid() tells first of papcoll-profile that runs a program of Python in the background
    of a terminal."""
    leader, terminal = pty.fork()
    if leader == 0:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os.execv(job.options.profile, [
                job.options.profile, "--no-report", "--output", str(job.traces), "--abi", job.mpi,
                sys.executable, "-c", code])
        _, status = os.waitpid(child, os.WUNTRACED)
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        os.write(1, f"status {status}.".encode())
        os._exit(0)
    out = ""
    while not re.search(r"status \d+\.", out):
        out += os.read(terminal, 1000).decode()
    os.waitpid(leader, 0)
    os.close(terminal)
    return int(re.search(r"status (\d+)\.", out)[1])


def case_interrupted(job):
    """The report of a job that is told to end does not say that it still runs."""
    _, out = told(job, signal.SIGTERM, job.compiled("waits.cpp"), "60")
    check("ended without a word" in out, out)
    # Ctrl-C, which the terminal tells the job itself.
    child, terminal = pty.fork()
    if child == 0:
        os.execv(job.options.profile, [
            job.options.profile, "--output", str(job.traces), "--abi", job.mpi, sys.executable,
            "-c", "import signal, sys, time\n"
            "signal.signal(signal.SIGINT, lambda *_: print('heard', flush=True))\n"
            "print('ready', flush=True)\ntime.sleep(0.5)\nsys.exit(3)"])
    out = ""
    while "ready" not in out:
        out += os.read(terminal, 1000).decode()
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # the end
        while text := os.read(terminal, 1000).decode():
            out += text
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    check(status == 3 and out.count("heard") == 1, f"{status}: {out}")
    # A warning that comes when the job has ended, during the report.
    directory = job.directory / "bin"
    directory.mkdir()
    built = pathlib.Path(job.options.profile).resolve()
    shutil.copy(built, directory)
    for library in built.parent.glob("lib*.so"):
        (directory / library.name).symlink_to(library)
    command = directory / "papcoll"
    command.write_text("#!/bin/sh\nkill -s USR1 $PPID\nsleep 0.2\necho reported\n")
    command.chmod(0o755)
    done = subprocess.run([directory / built.name, "--output", str(job.traces),
                           *job.launch(1, job.compiled("ends.cpp"))], capture_output=True,
                          text=True, check=False, timeout=60)
    check(done.returncode == 0 and "reported" in done.stdout, f"{done.returncode}: {done.stdout}")
    # A job in the background that reads from the terminal: it stops, or goes on without what is
    # typed, and papcoll-profile with it.
    read = "import os, signal\ntry: os.read(0, 1)\nexcept OSError: os._exit(3)"
    check(os.WIFSTOPPED(status_in_background(job, read)), "it goes on where its job is stopped")
    heard = "signal.signal(signal.SIGTTIN, lambda n, _: signal.signal(n, signal.SIG_IGN))"
    status = status_in_background(job, read.replace("\n", f"\n{heard}\n", 1))
    check(os.waitstatus_to_exitcode(status) == 3, f"it stops where its job goes on: {status}")
    # Signals that come as the job ends.
    for _ in range(10):
        with subprocess.Popen([job.options.profile, "--no-report", "--output", str(job.traces),
                               "--abi", job.mpi, "bash", "-c",
                               "trap '' USR1; echo ready; sleep 0.05; exit 3"],
                              stdout=subprocess.PIPE) as running:
            running.stdout.readline()
            time.sleep(0.04)
            while running.poll() is None:
                running.send_signal(signal.SIGUSR1)
                time.sleep(0.0005)
        check(running.returncode == 3, f"signals change the status: {running.returncode}")


if __name__ == "__main__":
    sys.exit(jobs.main(__doc__, ("--profile", "--run", "--counts", "--papcoll"), Job, globals()))
