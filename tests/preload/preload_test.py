#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""preload_test.py --mpi openmpi|mpich --launcher LAUNCHER --run SCRIPT --library LIBRARY CASE:
programs under papcoll-run, which check their own results, and what papcoll says of them. A case that
cannot run here says SKIPPED and why, and exits with 77.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interpose"))
import jobs  # noqa: E402
from jobs import Skip, check  # noqa: E402

FIRST_CALLS = "left: the first calls of a communicator"


class Job(jobs.Job):
    """With an environment in which papcoll-run has no settings."""

    def __init__(self, options, directory):
        super().__init__(options, directory, HERE)
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("PAPCOLL_RUN_", "PAPCOLL_LEARN", "PAPCOLL_TUNING"))}

    def plain(self, command, timeout=60):
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                              env=self.environment, cwd=self.directory)

    def run(self, command, *options, environment=None, status=0, timeout=200):
        """Under papcoll-run; what it printed."""
        done = subprocess.run([self.options.run, *options, *command],
                              env={**self.environment, **(environment or {})},
                              capture_output=True, text=True, timeout=timeout, check=False,
                              cwd=self.directory)
        if status is not None:
            check(done.returncode == status,
                  f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def right(self, command, *options, **more):
        """A program that says that all is right; what the summary says: function → fate → calls."""
        done = self.run(command, "--summary", *options, **more)
        check(done.stdout.split() == ["all", "right"], f"{done.stdout}{done.stderr}")
        return jobs.summary(done.stderr)


def check_all_taken(found):
    """All calls were papcoll's but the first ones of communicators, and ran by some algorithm."""
    all_calls = 0
    for function, fates in found.items():
        if isinstance(fates, dict):
            calls = fates["calls"] - fates.get(FIRST_CALLS, 0)
            check(fates.get("taken over", 0) == calls, f"{function}: {fates}")
            all_calls += calls
    check(found.get("by algorithm", 0) == all_calls, f"{all_calls} calls: {found}")


def case_collectives(job):
    """Every collective in every form, by 1 to 5 ranks."""
    program = job.compiled("cases_collectives.cpp")
    for ranks in (2, 3, 4, 5):
        found = job.right(job.launch(ranks, program), "--take-over-after", "1")
        check(len(found) == 11 and found["communicators"] == 2, found)
        check_all_taken(found)
        check(all(FIRST_CALLS not in f for f in found.values() if isinstance(f, dict)), found)
    found = job.right(job.launch(1, program), "--take-over-after", "1")
    check(all(f["left: one rank"] == f["calls"] for f in found.values() if isinstance(f, dict)),
          found)
    # The 32nd call on is papcoll's, of the one communicator; MPI_COMM_WORLD has one call.
    found = job.right(job.launch(3, program), "--take-over-after", "32")
    check_all_taken(found)
    check(sum(f.get(FIRST_CALLS, 0) for f in found.values() if isinstance(f, dict)) == 3 * 32,
          found)


def case_contracts(job):
    """The same under other contracts and by other algorithms, whether or not they serve all calls."""
    program = job.compiled("cases_collectives.cpp")
    for options in (["--contract", "Fast"], ["--contract=RankConsistent"]):
        check_all_taken(job.right(job.launch(3, program), "--take-over-after", "1", *options))
    # Operators that do not commute and long elements are not for all of them, nor are collectives.
    unfit = "taken over by auto, since the algorithm asked for does not serve them"
    for algorithm in ("MpiTransport", "Chain", "DynamicLeader", "Rabenseifner+MpiTransport",
                      "MPI_Allreduce[..4K] = RecursiveDoubling; allreduce=Ring;"
                      "bcast[1k..]=Chain+MpiTransport;reduce=DynamicLeader;allgather=Ring"):
        found = job.right(job.launch(3, program), "--take-over-after", "1", "--algorithm", algorithm)
        for fates in found.values():
            if isinstance(fates, dict):
                check(fates.get("taken over", 0) + fates.get(unfit, 0) == fates["calls"], found)
        check(algorithm != "Chain" or unfit in found["MPI_Allgather"], found)


def said_of(done):
    """number of a case → what each rank said of it."""
    found = collections.defaultdict(list)
    for number, text in sorted(re.findall(r"^(\d+): (rank .*)", done.stdout, re.M)):
        found[int(number)].append(text)
    return found


def plain_arguments(job, program, handler, number):
    """What plain MPI says, without the cases that it does not survive: MPICH crashes where a count is
    negative."""
    said, pending = {}, list(range(1, number + 1))
    while pending:
        done = job.plain(job.launch(2, program, handler, *map(str, pending)))
        found = {k: v for k, v in said_of(done).items() if len(v) == 2}
        ended_it = next((k for k in pending if k not in found), number)
        said |= {k: v for k, v in found.items() if all(line.endswith("right") for line in v)}
        pending = [k for k in pending if k > ended_it]
    return said


def case_arguments(job):
    """Wrong arguments give the same classes of errors as without papcoll."""
    program = job.compiled("cases_arguments.cpp")
    number = int(job.plain(job.launch(2, program, "return")).stdout.split()[0])
    check(number > 30, number)
    survived = 0
    for handler in ("return", "user"):
        plain = plain_arguments(job, program, handler, number)
        survived += len(plain)
        # Also with communicators that are taken over between the wrong call and the next.
        done = job.run(job.launch(2, program, handler, *map(str, plain)),
                       "--take-over-after", "1" if handler == "return" else "2")
        check(said_of(done) == plain, f"plain:\n{plain}\npreloaded:\n{done.stdout}{done.stderr}")
    check(survived > 50, survived)


def case_errors(job):
    """What papcoll finds wrong is an error of MPI's, with papcoll's sentence."""
    program = job.compiled("cases_errors.cpp")
    for handler in ("return", "user"):
        done = job.run(job.launch(2, program, handler), "--take-over-after", "1")
        check(done.stdout.count("papcoll") == 2, done.stdout + done.stderr)
        check("all right" in done.stdout, done.stdout + done.stderr)
    done = job.run(job.launch(2, program, "fatal"), "--take-over-after", "1", status=None)
    check(done.returncode != 0, done.stdout + done.stderr)


def case_communicators(job):
    """Which communicators are taken over, and that what ends with them ends."""
    program = job.compiled("cases_communicators.cpp")
    for ranks in (1, 2, 3, 5):
        found = job.right(job.launch(ranks, program, "kinds"), "--take-over-after", "3")["MPI_Allreduce"]
        if ranks > 1:
            check(found["left: inter-communicator"] == 5 * ranks, found)
            check(found["left: one rank"] >= 10 * ranks, found)
            check(found["taken over"] > 0 and found[FIRST_CALLS] > 0, found)
    for what in ("ends", "finalize", "handler", "threads"):
        job.right(job.launch(3, program, what), "--take-over-after", "1")
        job.right(job.launch(2, program, what), "--take-over-after", "3")
    job.right(job.launch(3, program, "short"), "--take-over-after", "5")
    check_all_taken(job.right(job.launch(2, program, "many", "60"), "--take-over-after", "1"))
    job.right(job.launch(2, program, "many", "300"))


def case_take_over(job):
    """A communicator is taken over where its calls would have paid for that, of which they are
    looked at in the 32nd, 64th, 128th and so on, or in the call that is asked for."""
    program = job.compiled("cases_take_over.cpp")
    for options, arguments, left in (((), ("2000", "8"), 2000), ((), ("31", "8"), 31),
                                     ((), ("127", "8"), 127), ((), ("12000", "8"), 12000),
                                     ((), ("17000", "8"), 16383), ((), ("500", "65536"), 127),
                                     ((), ("40", "4000000"), 31),
                                     (("--take-over-after", "auto"), ("600", "8", "65536"), 255),
                                     (("--take-over-after", "5"), ("40", "8", "64"), 4)):
        found = job.right(job.launch(2, program, *arguments), *options)["MPI_Allreduce"]
        # The call that MPI refuses may be one of them.
        check(found[FIRST_CALLS] - 2 * left in (0, 1), (options, arguments, found))
        check(found.get("taken over", 0) == 2 * (int(arguments[0]) - left), (arguments, found))


def case_gpu(job):
    """Where a rank has a GPU's driver, calls stay with MPI, unless it does not matter."""
    (job.directory / "driver.c").write_text("int cuInit(void) { return 0; }\n")
    driver = job.directory / "libcuda.so.1"
    subprocess.run([job.wrapper("mpicc"), "-shared", "-fPIC", str(job.directory / "driver.c"),
                    "-Wl,-soname,libcuda.so.1", "-o", str(driver)], check=True)
    launch = job.launch(3, job.compiled("cases_communicators.cpp"), "gpu", str(driver))
    found = job.right(launch, "--take-over-after", "1")["MPI_Allreduce"]
    check(found == {"calls": 18, "left: a GPU driver is loaded": 18}, found)
    found = job.right(launch, "--take-over-after", "1", "--ignore-gpu")["MPI_Allreduce"]
    check(found == {"calls": 18, "taken over": 18}, found)


def case_fortran(job):
    """mpif.h and mpi_f08."""
    for source in ("calls_mpif.f90", "calls_f08.f90"):
        program = job.compiled(f"programs/{source}")
        for ranks in (2, 3):
            done = job.run(job.launch(ranks, program), "--summary")
            check("failures 0" in done.stdout, done.stdout + done.stderr)
            check_all_taken(jobs.summary(done.stderr))


def case_python(job):
    """mpi4py."""
    check_all_taken(job.right(job.launch(3, *job.python("cases_python.py"))))


def case_each_rank(job):
    """The launcher before papcoll-run, and no launcher at all."""
    program = job.compiled("cases_communicators.cpp")
    done = job.plain(job.launch(2, job.options.run, "--summary", "--take-over-after=2", program, "handler"))
    check("all right" in done.stdout and "taken over" in done.stderr, done.stdout + done.stderr)
    job.run_examples(job.options.run, program, "handler", environment=job.environment)
    job.environment = {k: v for k, v in job.environment.items()
                       if not k.startswith(("OMPI_", "PMI"))}
    found = job.right([program, "handler"])
    check(found["MPI_Allreduce"].get("left: one rank") == found["MPI_Allreduce"]["calls"], found)


def case_processes(job):
    """Processes of a job that are no MPI programs, and what the library needs of others."""
    job.check_other_processes()
    preload = {**os.environ, "LD_PRELOAD": job.options.library}
    # The launcher itself, scripts, and programs on both sides of a colon.
    program = job.compiled("cases_communicators.cpp")
    done = subprocess.run(job.launch(2, program, "handler"), env=preload, capture_output=True,
                          text=True, check=False)
    check("all right" in done.stdout and not done.stderr, done.stdout + done.stderr)
    launch = job.launch(1, "bash", "-c", f"x=$(bash -c 'exit 0'); {program} handler")
    found = job.right([*launch, ":", "-n", "2", program, "handler"], "--abi", job.mpi, "--take-over-after=1")
    check(found["MPI_Allreduce"]["taken over"] > 30, found)
    symbols = subprocess.run(["nm", "-D", "--undefined-only", job.options.library],
                             capture_output=True, text=True, check=True).stdout
    check("MPI" not in symbols, symbols)
    needed = subprocess.run(["readelf", "-d", job.options.library], capture_output=True, text=True,
                            check=True).stdout
    check("mpi" not in needed.lower().replace("preload_mpich", ""), needed)


def case_settings(job):
    """Settings that cannot be used are said in a sentence, and the program runs as without."""
    launch = job.launch(3, job.compiled("cases_communicators.cpp"), "handler")
    for options, words in ((["--algorithm", "Rign"], "did you mean Ring"),
                           (["--algorithm", "allreduce=Rign+MpiTransport"], "Rign"),
                           (["--algorithm", "alreduce=Ring"], "is no collective"),
                           (["--algorithm", "bcast[4k]=Chain"], "write a range"),
                           (["--algorithm", "bcast[4q..]=Chain"], "is no number of bytes"),
                           (["--algorithm", "SplitTail"], "eproducible"),
                           (["--contract", "Slow"], "is no contract"),
                           (["--take-over-after", "0"], "is no number of calls"),
                           (["--algorithm", "allreduce=Ring,bcast=auto"], "';' between rules")):
        done = job.run(launch, "--take-over-after", "1", *options)
        check(done.stdout == "all right\n", done.stdout + done.stderr)
        check("Rign+Reproducible" not in done.stderr, done.stderr)
        check(done.stderr.count("papcoll: ") == 1 and words in done.stderr and
              done.stderr.endswith("the program runs without papcoll\n"), done.stderr)
    tuning = job.directory / "bad.tuning"
    tuning.write_text("{broken")
    done = job.run(["env", f"PAPCOLL_TUNING={tuning}", *launch], "--take-over-after", "1")
    check(done.stdout == "all right\n" and done.stderr.count("papcoll: ") == 1 and
          "bad.tuning (PAPCOLL_TUNING) of rank 0, line 1" in done.stderr, done.stdout + done.stderr)
    # papcoll-run refuses it where it sees it; the content by `papcoll`, if that is there.
    files = [("none.tuning", "No such file")]
    if (pathlib.Path(job.options.run).parent.parent / "papcoll").is_file():
        files.append(("bad.tuning", "line 1: "))
    for name, words in files:
        done = job.run(launch, "--take-over-after", "1", environment={"PAPCOLL_TUNING": name}, status=2)
        check(not done.stdout and done.stderr.startswith("papcoll-run: ") and
              f"{job.directory.resolve() / name}" in done.stderr and words in done.stderr,
              done.stdout + done.stderr)
        job.run(launch, "--off", environment={"PAPCOLL_TUNING": name})
    done = job.run(["printenv", "PAPCOLL_LEARN"], "--abi", job.mpi, "--learn", "kept.json")
    check(done.stdout == f"{job.directory.resolve() / 'kept.json'}\n", done.stdout + done.stderr)
    for off, summary, shm, words in (("nein", "1", "", "PAPCOLL_RUN_OFF: 'nein' is not known: there "),
                                     ("No", "0", "Named", "PAPCOLL_SHM: 'Named' is not known: "),
                                     ("No", "On", "", "left: one rank"), ("yes", "False", "", "")):
        done = job.run(launch[-2:], environment={"PAPCOLL_RUN_OFF": off, "PAPCOLL_RUN_SUMMARY": summary,
                                                 "PAPCOLL_SHM": shm})
        check(words in done.stderr and bool(words) == bool(done.stderr), done.stderr)
    found = job.right(launch, "--off")["MPI_Allreduce"]
    check(found == {"calls": found["calls"], "left: switched off": found["calls"]}, found)
    # Of one rank only.
    script = 'rank=${OMPI_COMM_WORLD_RANK-${PMI_RANK-}}; PAPCOLL_RUN_TAKE_OVER_AFTER=$((rank + 1)) exec "$@"'
    program = launch[-2:]
    done = job.run([*launch[:-2], "sh", "-c", script, "sh", *program], "--abi", job.mpi)
    check(done.stdout == "all right\n" and "differ between ranks" in done.stderr,
          done.stdout + done.stderr)
    for arguments, words in ((["--take-over-after"], "needs a value"),
                             (["--abi", "y", "true"], "there are openmpi"),
                             (["--nonsense", "true"], "there is no option"),
                             (["/no/program"], "cannot find")):
        done = job.run(arguments, status=2)
        check(words in done.stderr, done.stderr)


def case_other_abi(job):
    """A library for another MPI leaves all calls as they are, and says so."""
    other = {"openmpi": "mpich", "mpich": "openmpi"}[job.mpi]
    library = pathlib.Path(job.options.library)
    if not (library.parent / f"libpapcoll_preload_{other}.so").exists():
        raise Skip("there is no library for another MPI")
    for source in ("cases_collectives.cpp", "cases_communicators.cpp"):
        program = [job.compiled(source)]
        if source == "cases_collectives.cpp":
            program.append("without")
        done = job.run(job.launch(2, *program), "--abi", other, "--summary")
        # MPICH tells of messages that nobody received: of the calls that are wrong on one rank.
        said = [line for line in done.stdout.splitlines() if "was not matched" not in line]
        check(said == ["all right"], done.stdout + done.stderr)
        check(done.stderr.count("choose another by papcoll-run --abi; the program runs without "
                                "papcoll") == 1, done.stderr)
    launcher = shutil.which(f"mpirun.{other}")
    if launcher is not None:
        words = ["--allow-run-as-root", "--oversubscribe"] if other == "openmpi" else []
        program = job.compiled("cases_communicators.cpp")
        done = job.run([launcher, *words, "-n", "2", program, "handler"], status=None)
        check("is of another MPI" in done.stderr, done.stderr)


def case_own_mpi(job):
    """A program that has MPI within itself runs as it is, and papcoll-run says so."""
    program = job.directory / "own"
    subprocess.run(["cc", str(HERE / "cases_own_mpi.c"), "-o", str(program)], check=True)
    for flags in ([], ["-static"]):
        done = subprocess.run(["cc", *flags, str(HERE / "cases_own_mpi.c"), "-o", str(program)],
                              capture_output=True, check=False)
        if done.returncode != 0:
            continue  # no static C library
        done = job.run([str(program)], status=3)
        check("has MPI within itself" in done.stderr, done.stderr)
        check(job.plain([str(program)]).returncode == 3, "the program alone")


def case_limits(job):
    """Where papcoll cannot have what it needs, the program runs as without."""
    program = job.compiled("cases_communicators.cpp")
    for limit in ("-v 1500000", "-n 64"):
        launch = job.launch(2, "sh", "-c", f"ulimit {limit}; exec {program} many 60")
        plain = job.plain(launch)
        if plain.returncode != 0:
            print(f"ulimit {limit}: not even the plain program runs")
            continue
        done = job.run(launch, "--abi", job.mpi, "--take-over-after", "1", "--summary")
        check(done.stdout == "all right\n", done.stdout + done.stderr)
        said = [line for line in done.stderr.splitlines() if "stays with MPI" in line]
        check(len(said) < 3, done.stderr)
    # Most of the address space stays the program's.
    program = job.compiled("cases_address_space.c")
    for megabytes in (600, 1000, 3000, 6000):
        launch = job.launch(2, "sh", "-c", f"ulimit -v {megabytes}000; exec {program}")
        plain, done = job.plain(launch), job.run(launch, "--abi", job.mpi, "--take-over-after", "1")
        left, most = (int(text.split()[0]) for text in (done.stdout, plain.stdout))
        check(left > most * 0.6, f"of {megabytes} MB {left} MB can be taken, plain {most} MB")
    # Where there is no memory to pack elements, that is an error of MPI's.
    for megabytes in (700, 2000):
        launch = job.launch(2, "sh", "-c", f"ulimit -v {megabytes}000; exec {program} pack")
        done = job.run(launch, "--abi", job.mpi, "--take-over-after", "1", status=None)
        check("terminate" not in done.stderr and
              (done.returncode != 0 or done.stdout == "right\n"), done.stdout + done.stderr)


def case_wrapped(job):
    """A launcher, or a program, behind other words; a script."""
    program = job.compiled("cases_communicators.cpp")
    launch = job.launch(2, program, "handler")
    words = [["env", "A=1"], ["timeout", "60"], ["nice", "-n", "1", "env", "-u", "X"],
             ["env", "-i", f"PATH={os.environ['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT=1",
              "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"], ["env", "-C", "/", "setsid", "-w"]]
    words += [w for w in (["stdbuf", "-oL"], ["time", "-p"], ["taskset", "-c", "0"],
                          ["numactl", "--localalloc"]) if shutil.which(w[0])]
    for before in words:
        found = job.right([*before, *launch], "--take-over-after=1")
        check(found["MPI_Allreduce"]["taken over"] > 20, f"{before}: {found}")
    # What they set counts, and a link to the script is as good as that.
    found = job.right(["env", "PAPCOLL_RUN_TAKE_OVER_AFTER=1000000", *launch], "--take-over-after=1")
    check("taken over" not in found["MPI_Allreduce"], found)
    link = job.directory / "link"
    link.symlink_to(job.options.run)
    done = job.plain([str(link), "--summary", "--take-over-after=1", *launch])
    check("all right" in done.stdout and "taken over" in done.stderr, done.stdout + done.stderr)
    # Of each rank, and of one without a launcher.
    done = job.plain(job.launch(2, job.options.run, "--summary", "--take-over-after=2", "nice", "-n", "1",
                                program, "handler"))
    check("all right" in done.stdout and "taken over" in done.stderr, done.stdout + done.stderr)
    # What such words preload stays: the ranks have it, too.
    tool = job.directory / "tool.c"
    tool.write_text("#include <stdio.h>\n__attribute__((constructor)) static void begin(void)\n"
                    '{ fputs("tool\\n", stderr); }\n')
    library = job.compiled(tool, "-shared", "-fPIC")
    ways = [["env", f"LD_PRELOAD={library}", *launch],
            job.launch(2, "env", f"LD_PRELOAD={library}", program, "handler"),
            job.launch(2, "sh", "-c", f"LD_PRELOAD={library}:$LD_PRELOAD {program} handler")]
    if job.mpi == "openmpi":
        ways += [job.launch(2, program, "handler", flags=["-x", f"LD_PRELOAD={library}"]),
                 ["env", f"LD_PRELOAD={library}",
                  *job.launch(2, program, "handler", flags=["-x", "LD_PRELOAD"])]]
    else:
        ways += [job.launch(2, program, "handler", flags=[option, "LD_PRELOAD", library])
                 for option in ("-env", "-genv")]
    for way in ways:
        done = job.run(way, "--summary", "--take-over-after=1")
        check("taken over" in done.stderr and done.stderr.count("tool\n") >= 2,
              f"{way}: {done.stdout}{done.stderr}")
    job.check_words(program, job.options.run)
    # A script that names a variable of MPICH's has no MPI within itself.
    script = job.written("rank.sh", f"export MPIR_CVAR_DEBUG_SUMMARY=0\nexec {program} handler")
    found = job.right(job.launch(2, script), "--take-over-after=1")
    check(found["MPI_Allreduce"]["taken over"] > 20, found)


if __name__ == "__main__":
    sys.exit(jobs.main(__doc__, ("--run",), Job, globals()))
