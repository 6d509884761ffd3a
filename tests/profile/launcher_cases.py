# SPDX-License-Identifier: BSD-3-Clause
"""Cases of profile_test.py: papcoll-profile beside other tools and launchers, and told to end."""

import contextlib
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

from profile_job import CALLS, jobs, same_as_printed, told
from jobs import Skip, check


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
