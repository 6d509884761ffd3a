#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scalapack_suite.py --mpi openmpi|mpich [--run WORDS]: ScaLAPACK's packaged test of LU
factorization and the testers of BLACS (Debian: scalapack-mpi-test), plain and preloaded."""

import glob
import re
import shutil
import sys

import common


def checks(out):
    """The rows of xdlu without their times: sizes, grid, and PASSED or FAILED."""
    rows = [line.split() for line in out.splitlines() if re.search(r"\b(PASSED|FAILED)\b", line)]
    return [r[:8] + r[-1:] for r in rows]


def body(suite, options):
    found = glob.glob(f"/usr/lib/*/scalapack/{suite.mpi}-tests")
    if not found:
        raise common.Skip("there are no ScaLAPACK testers for this MPI: scalapack-mpi-test")
    tests = suite.directory / "tests"
    shutil.copytree(found[0], tests, ignore=lambda _, names: [
        n for n in names if n.startswith("x") and n not in ("xdlu", "xCbtest", "xFbtest")])
    outputs = [suite.run(4, [str(tests / "xdlu")], p, cwd=tests) for p in (False, True)]
    rows = [checks(out) for _, out, _ in outputs]
    suite.compare(f"xdlu: {len(rows[0])} checks", rows[0] == rows[1] and len(rows[0]) > 0)
    suite.compare("xdlu: all passed", all(r[-1] == "PASSED" for r in rows[1]) and
                  outputs[1][0] == outputs[0][0])
    for name in options.testers:
        said = []
        for preloaded in (False, True):
            status, out, _ = suite.run(4, [str(tests / "BLACS" / name)], preloaded,
                                       cwd=tests / "BLACS")
            # "INTEGER SDRV TESTS: PASSED …", sums of passed, skipped and failed tests. Whether sums
            # happen to differ from call to call, which one test needs, is a matter of chance.
            said.append((status, [line.strip() for line in out.splitlines()
                                  if "SKIPPED REPEATABLE SUM" not in line and
                                  "PASSED  REPEATABLE SUM" not in line and
                                  re.search(r"PASSED|FAILED|SKIPPED|TESTS", line)]))
        suite.compare(f"{name}: {len(said[0][1])} lines", said[0] == said[1] and said[0][1],
                      common.first_difference("\n".join(said[0][1]), "\n".join(said[1][1]))
                      if said[0] != said[1] else "")


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--testers", nargs="*", default=["xCbtest", "xFbtest"],
                        help="of BLACS (default: in C and in Fortran)")
    options = parser.parse_args()
    return common.main(options, lambda suite: body(suite, options))


if __name__ == "__main__":
    sys.exit(main())
