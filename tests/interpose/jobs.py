# SPDX-License-Identifier: BSD-3-Clause
"""What tests of preloaded libraries share: how programs are compiled and launched for one MPI
library, and how cases are chosen."""

import argparse
import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

SKIPPED = 77
PYTHON = "/usr/bin/python3"


class Skip(Exception):
    """A reason why a case cannot run here."""


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def wrapper(mpi, launcher, language):
    """mpicc of an MPI, and so on: beside its launcher."""
    for name in (f"{language}.{mpi}", language):
        path = pathlib.Path(launcher).parent / name
        if path.exists():
            return str(path)
    raise Skip(f"there is no {language} beside {launcher}")


def build(compiler, source, program, flags, cwd=None):
    """Compiles a file, by way of ccache where it is there, since tests have programs in common, and
    links it; the first command that fails, or the last."""
    of_compiler = [flag for flag in flags if flag != "-shared"]  # of which clang warns there
    commands = [[compiler, *of_compiler, "-c", source, "-o", f"{program}.o"],
                [compiler, f"{program}.o", "-o", program, *flags, "-ldl"]]
    if shutil.which("ccache"):
        commands[0].insert(0, "ccache")
    for command in commands:
        # Whatever the directory: the sources have absolute names.
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd,
                              env={**os.environ, "CCACHE_NOHASHDIR": "1"})
        if done.returncode != 0:
            break
    return done


def launched(mpi, launcher, ranks, program, flags=()):
    """The words of a job, on however few processors."""
    more = []
    if mpi == "openmpi":
        more = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                "--mca", "mpi_yield_when_idle", "1"]
    return [launcher, *more, *flags, "-n", str(ranks), *program]


class Job:
    """How to compile and launch for one MPI library, in a directory that goes away."""

    def __init__(self, options, directory, sources):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.sources = sources
        self.mpi = options.mpi
        self.launcher = options.launcher

    def wrapper(self, language):
        """mpicc of this MPI, and so on."""
        return wrapper(self.mpi, self.launcher, language)

    def compiled(self, source, *flags):
        """A program of the test's directory."""
        source = self.sources / source
        program = str(self.directory / source.name.replace(".", "-"))
        language, more = {".cpp": ("mpicxx", ["-std=c++20", "-pthread"]),
                          ".c": ("mpicc", []),
                          ".f90": ("mpif90", ["-fallow-argument-mismatch", "-w"])}[source.suffix]
        # Here, where Fortran leaves its modules.
        done = build(self.wrapper(language), str(source), program, ["-O1", "-g", *more, *flags],
                     cwd=self.directory)
        if language == "mpif90" and done.returncode != 0 and shutil.which("gfortran") is None:
            raise Skip("there is no gfortran")
        check(done.returncode == 0, done.stderr)
        return program

    def launch(self, ranks, *program, flags=()):
        return launched(self.mpi, self.launcher, ranks, program, flags)

    def run_examples(self, path, *program, environment=None):
        """The two examples of a launcher's help, with a program in place of theirs."""
        text = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout
        lines = text.partition("examples:\n")[2].splitlines()
        check(len(lines) == 2, text)
        for line in lines:
            words = []
            for word in shlex.split(line.replace("mpirun -n 4", "LAUNCHER")):
                words += {pathlib.Path(path).name: [path], "LAUNCHER": self.launch(4),
                          "./program": program}.get(word, [word])
            done = subprocess.run(words, capture_output=True, text=True, check=False,
                                  cwd=self.directory, env=environment, timeout=200)
            check(done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}")

    def python(self, script):
        """A program of mpi4py's."""
        if self.mpi != "openmpi":
            raise Skip("the system's mpi4py is built for Open MPI")
        if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True,
                          check=False).returncode:
            raise Skip("there is no mpi4py")
        return [PYTHON, str(self.sources / script)]

    def check_other_processes(self):
        """Processes of a job that are no MPI programs end as they do without the library."""
        preload = {**os.environ, "LD_PRELOAD": self.options.library}
        for status, *command in ((0, "/bin/true"), (3, "bash", "-c", "exit 3"),
                                 (4, "sh", "-c", "x=$(bash -c 'echo 4'); exit $x"),
                                 (5, PYTHON, "-c",
                                  "import os, sys\n"
                                  "os.waitpid(os.fork() or os._exit(0), 0)\nsys.exit(5)")):
            done = subprocess.run(command, env=preload, capture_output=True, text=True, check=False)
            check(done.returncode == status and not done.stderr, f"{command}: {done}")

    def written(self, name, text):
        """A script of the test's directory."""
        script = self.directory / name
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
        return str(script)

    def check_words(self, program, *tool):
        """What stands behind a program is its own, whatever it looks like, and says nothing of it.
        `program` is one of MPI's."""
        self.written("printed", 'printf "%s\\n" "$@"')
        version = {"openmpi": "Open MPI", "mpich": "HYDRA"}[self.mpi]
        mpirun = self.written("mpirun", f'[ "$1" = --version ] && echo {version} || ./printed "$@"')
        srun = self.written("srun", './printed "$LD_PRELOAD" "$@"')
        library = self.options.library

        def printed(*command, **more):
            done = subprocess.run([*tool, *map(str, command)], capture_output=True, text=True,
                                  check=False, cwd=self.directory, env={**os.environ, **more},
                                  input="input")
            return done.stdout, done.stderr

        words = [program, "LD_PRELOAD=a", "-x", "LD_PRELOAD", "mpirun", "--app", "papcoll-run", ":"]
        for before in ("", "timeout -k 1 -s INT 60", "env -u X -C . A=1 nice -n 1",
                       "stdbuf -o L env -- nice"):
            out, _ = printed("--abi", self.mpi, *before.split(), "./printed", *words)
            check(out.split() == words, f"{before}: {out}")
        # The environment stays: what is no name of a shell's variable, as functions of bash's are,
        # and what is one of these scripts' variables.
        self.written("env", "exit 9")
        more = {"B.C": "c", "name": 'a\nb "', "command": "d", "environment": "e", "CDPATH": "/",
                "PATH": f"{self.directory}:{os.environ['PATH']}"}
        out, said = printed("--abi", self.mpi, PYTHON, "-c", "import os, sys\n"
                            "print(sys.stdin.read(), *map(os.environ.get, sys.argv[1:]), sep='|')",
                            *more, **more)
        check(out == "|".join(["input", *more.values()]) + "\n", out + said)
        # Commas are no ends of words, and a program of MPI's is none of the names that are known.
        self.written("taskset", 'shift 2; exec "$@"')
        os.symlink(program, self.directory / "nice")
        out, said = printed("env", "A=1,", "./taskset", "-c", "0,1", mpirun, "./nice", "env",
                            "LD_PRELOAD=a")
        check(library in out and out.endswith("./nice\nenv\nLD_PRELOAD=a\n"), out + said)
        # Programs that are called as a function of the scripts, a word of bash's, or a launcher is,
        # where PATH has nothing else.
        names = self.directory / "names"
        names.mkdir()
        for name in ("fail", "test", "flux"):
            os.symlink(program, names / name)
        for name in ("fail", "test"):
            out, said = printed(srun, name, PATH=str(names))
            check(library in out and said == "", f"{name}: {out}{said}")
        _, said = printed("timeout", "x", "flux", PATH=f"{names}:{os.environ['PATH']}")
        check("cannot tell" not in said, said)
        # Where there is no such program here, what follows is its own, too.
        out, said = printed("--abi", self.mpi, srun, "timeout", "-v", "9", "./no", "env",
                            "LD_PRELOAD=a")
        check(out.endswith("./no\nenv\nLD_PRELOAD=a\n"), out + said)
        out, said = printed(srun, "-n", "1", "./printed", *words)
        check("cannot tell which MPI" in said, out + said)
        out, said = printed(srun, "-n", "1", "--job-name", "sh", "env", "LD_PRELOAD=a", *words)
        check(out.split()[:3] == [library, "-n", "1"] and library in out.split()[6] and
              out.split()[7:] == words, out + said)
        for option in ("--help", "--version"):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([*tool, option], stdout=full, stderr=subprocess.PIPE,
                                      check=False)
            check(done.returncode != 0 and done.stderr, f"{option} to a full disk: {done}")
        # Programs behind colons, of which each has options of the launcher's.
        before = {"openmpi": ["-x", "LD_PRELOAD=a"], "mpich": ["-env", "LD_PRELOAD", "a"]}[self.mpi]
        words = [*before, "-n", "1", "./printed", "LD_PRELOAD=b", *before, "mpirun", ":",
                 "--map-by", "sh", "--xyz", "3", *before, "env", "LD_PRELOAD=c", "nice",
                 "./printed", "LD_PRELOAD=d", "--mca", "mca_base_env_list", "A=1", "--app"]
        out, said = printed(mpirun, *words)
        check(out.count(library) == {"openmpi": 5, "mpich": 4}[self.mpi], out + said)
        out = re.sub(f"^-(x\nPAPCOLL_.*|x\nLD_PRELOAD={library}|genv\nPAPCOLL_.*\n.*|"
                     f"genv\nLD_PRELOAD\n{library})\n", "", out, flags=re.M)
        check(re.sub(f"{library}:|:{library}", "", out).split() == words, out + said)
        if self.mpi == "openmpi":
            file = self.directory / ".openmpi" / "mca-params.conf"
            file.parent.mkdir()
            file.write_text(" mca_base_env_list = A=1\n")
            for more, where in ((["-gmca", "mca_base_env_list", "A=1"], "-gmca mca_base_env_list"),
                                ([], f"mca_base_env_list in {file}")):
                out, said = printed(mpirun, *more, program, HOME=str(self.directory))
                check(f"takes no -x beside {where}: write " in said, said)
                check("the program runs without" in said and out.split() == [*more, program], out)


def summary(text):
    """What papcoll-run's summary says: function → fate → calls."""
    found = collections.defaultdict(dict)
    function = None
    for line in text.splitlines():
        if m := re.fullmatch(r"papcoll:   (MPI_\w+): (\d+)", line):
            function = m[1]
            found[function]["calls"] = int(m[2])
        elif m := re.fullmatch(r"papcoll:     (\d+) \([0-9.]+ %\) (.*)", line):
            found[function][m[2]] = int(m[1])
        elif m := re.fullmatch(r"papcoll:     (\d+) \w+ by .*", line):
            found["by algorithm"] = int(m[1]) + found.get("by algorithm", 0)
        elif m := re.fullmatch(r"papcoll:   communicators taken over: (\d+)(?:, .*)?", line):
            found["communicators"] = int(m[1])
    return dict(found)


def main(description, tools, job, names):
    """Runs the case that the command line asks for; the exit status. `tools` are further options
    that it has, and cases are the functions case_… of `names`."""
    cases = {name.removeprefix("case_"): f for name, f in names.items() if name.startswith("case_")}
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    for tool in ("--launcher", "--library", *tools):
        parser.add_argument(tool, required=True)
    parser.add_argument("case", choices=sorted(cases))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="papcoll-test-") as directory:
        try:
            cases[options.case](job(options, directory))
        except Skip as e:
            print(f"SKIPPED: {e}")
            return SKIPPED
        except AssertionError as e:
            print(f"FAILED: {e}")
            return 1
    return 0
