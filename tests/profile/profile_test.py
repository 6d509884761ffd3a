#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""profile_test.py --mpi openmpi|mpich --launcher LAUNCHER --profile SCRIPT --counts PROGRAM CASE:
programs under papcoll-profile, and what their traces hold. A case that cannot run here says
SKIPPED and why, and exits with 77.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from profile_job import CALLS, ENDED, HERE, Job, jobs, same_as_printed, told
from jobs import Skip, check
import launcher_cases


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


if __name__ == "__main__":
    sys.exit(jobs.main(__doc__, ("--profile", "--run", "--counts", "--papcoll"), Job,
                       {**globals(), **vars(launcher_cases)}))
