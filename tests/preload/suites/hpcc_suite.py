#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hpcc_suite.py --mpi openmpi [--run WORDS]: HPCC's own checks, plain and preloaded, and the same
norms of HPL."""

import pathlib
import re
import shutil
import sys

import common

INPUT = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")


def once(suite, name, preloaded, size):
    directory = suite.directory / name
    directory.mkdir()
    text = INPUT.read_text()
    for pattern, value in ((r"^\S+(\s+Ns)", size), (r"^\S+(\s+Ps)", 2), (r"^\S+(\s+Qs)", 2),
                           (r"^\S+(\s+NBs)", 32)):
        text = re.sub(pattern, rf"{value}\1", text, flags=re.M)
    (directory / "hpccinf.txt").write_text(text)
    status, _, err = suite.run(4, [shutil.which("hpcc")], preloaded, cwd=directory)
    out = directory / "hpccoutf.txt"
    text = out.read_text() if out.exists() else ""
    suite.compare(f"{name}: Success=1", status == 0 and "Success=1" in text, err[-300:] if status
                  else "")
    # Of the solution and the matrix. They do not depend on how long it took.
    return re.findall(r"^(HPL_(?:RnormI|Anorm1|AnormI|Xnorm1|XnormI|N|NB)=\S+)", text, re.M)


def body(suite, options):
    if shutil.which("hpcc") is None or not INPUT.exists():
        raise common.Skip("there is no hpcc")
    if suite.mpi != "openmpi":
        raise common.Skip("the system's hpcc is for Open MPI")
    plain = once(suite, "plain", False, options.size)
    preloaded = once(suite, "preloaded", True, options.size)
    suite.compare("norms of HPL", plain == preloaded and len(plain) > 3, f"{plain}, {preloaded}"
                  if plain != preloaded else "")


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--size", type=int, default=200, help="of HPL's matrix")
    options = parser.parse_args()
    return common.main(options, lambda suite: body(suite, options))


if __name__ == "__main__":
    sys.exit(main())
