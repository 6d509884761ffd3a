#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the documents promise is kept: the table of algorithms in docs/policies.md is what `papcoll list`
says, and the README's first program compiles by the line below it, runs, and prints what is said.

readme.py table PAPCOLL [--write]
readme.py program MPI-COMPILER LAUNCHER… RANKS
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

README = pathlib.Path("README.md")
POLICIES = pathlib.Path("docs/policies.md")
COLLECTIVES = ["allreduce", "reduce", "bcast", "allgather", "reduce_scatter", "gather", "scatter",
               "barrier", "alltoall", "scan", "exscan"]
BEGIN, END = "<!-- algorithms begin -->\n", "<!-- algorithms end -->"


def table(tool):
    rows = json.loads(subprocess.run([tool, "list", "--json"], check=True, capture_output=True,
                                     text=True).stdout)
    lines = ["| algorithm | " + " | ".join(COLLECTIVES) + " |",
             "| --- |" + " :-: |" * len(COLLECTIVES)]
    for name in dict.fromkeys(row["name"] for row in rows):
        serves = {row["collective"]: row for row in rows if row["name"] == name}
        on_node = any("node_memory" in row["requirements"] for row in serves.values())
        cells = []
        for collective in COLLECTIVES:
            row = serves.get(collective)
            commutes = row and "commutative_operator" in row["requirements"]
            cells.append("" if row is None else "×¹" if commutes else "×")
        lines.append(f"| {name}{'²' if on_node else ''} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def check_table(tool, write):
    text = POLICIES.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    found, after = rest.split(END)
    wanted = table(tool)
    if write:
        POLICIES.write_text(before + BEGIN + wanted + END + after, encoding="utf-8")
    elif found != wanted:
        print(f"{POLICIES}: the table of algorithms is not what `{tool} list` says. Bring it up to "
              f"date by: {sys.argv[0]} table {tool} --write")
        return 1
    return 0


def check_program(compiler, launcher):
    text = README.read_text(encoding="utf-8")
    program = re.search(r"```cpp\n(.*?)```", text, re.DOTALL).group(1)
    line = re.search(r"^    mpicxx (.*)$", text, re.MULTILINE).group(1).split()
    with tempfile.TemporaryDirectory() as directory:
        here = pathlib.Path(directory)
        (here / "papcoll").symlink_to(pathlib.Path.cwd())
        (here / "first.cpp").write_text(program, encoding="utf-8")
        if subprocess.run([compiler, *line], cwd=here).returncode != 0:
            print("README.md: its first program does not compile")
            return 1
        ran = subprocess.run([*launcher, here / "first"], stdout=subprocess.PIPE, text=True)
        printed = re.search(r"^prints `counted (.*)` four times", text, re.MULTILINE).group(1)
        wanted = "counted " + printed.replace("4", launcher[-1]) + "\n"
        if ran.returncode != 0 or ran.stdout != wanted * int(launcher[-1]):
            print(f"README.md: its first program ends with {ran.returncode} and prints, instead of "
                  f"{launcher[-1]} times {wanted}{ran.stdout}")
            return 1
        return 0


def main(arguments):
    if arguments[:1] == ["table"] and len(arguments) >= 2:
        return check_table(arguments[1], "--write" in arguments[2:])
    if arguments[:1] == ["program"] and len(arguments) >= 2:
        return check_program(arguments[1], arguments[2:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
