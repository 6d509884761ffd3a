#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/test.sh says at its end.

test_report.py times BUILD-DIRECTORY LINES-OF-NINJA-LOG-BEFORE JUNIT-FILE: where the time of a
configuration's build and tests went.
test_report.py failures JUNIT-FILE: the end of what each failed test printed."""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree

MOST = 12  # rows of each table
LAST = 20  # lines of what a failed test printed


def compiled(directory, lines_before):
    """(seconds, program, output) of each command of this build."""
    lines = pathlib.Path(directory, ".ninja_log").read_text(encoding="utf-8").splitlines()
    new = lines[lines_before:] if len(lines) >= lines_before else lines
    commands = {}
    for line in new:
        if line.startswith("#"):
            continue
        begin, end, _, output, command = line.split("\t")
        commands.setdefault((begin, end, command), output)
    for (begin, end, _), output in commands.items():
        program = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
        yield ((int(end) - int(begin)) / 1000, program.group(1) if program else "(links)",
               output.rsplit("/", 1)[-1])


def tested(file):
    """(seconds, program, name) of each test."""
    for case in xml.etree.ElementTree.parse(file).getroot().iter("testcase"):
        name = case.get("name")
        group = ".".join(name.split(".")[:2]) if name.startswith(("preload.", "profile.")) else (
            name.split(".")[0])
        yield float(case.get("time") or 0), group, name


def table(what, rows):
    rows = list(rows)
    by_program = collections.Counter()
    for seconds, program, _ in rows:
        by_program[program] += seconds
    print(f"  {what}: {sum(by_program.values()):.0f} s in {len(rows)} steps")
    left = by_program.most_common(MOST)
    right = sorted(rows, reverse=True)[:MOST]
    for (program, all_of_it), (seconds, _, name) in zip(left, right):
        print(f"    {all_of_it:6.1f}  {program:<34}  {seconds:6.1f}  {name}")


def times(directory, lines_before, junit):
    table("compiled, by program and by file", compiled(directory, int(lines_before)))
    if pathlib.Path(junit).exists():
        table("tested, by program and by test", tested(junit))


def failures(junit):
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        if case.find("failure") is not None:
            lines = (case.findtext("system-out") or "").rstrip().splitlines()
            print(f"  {case.get('name')}, after {float(case.get('time') or 0):.0f} s:")
            print("\n".join(f"    {line[:300]}" for line in lines[-LAST:]))


def main(arguments):
    commands = {("times", 3): times, ("failures", 1): failures}
    command = commands.get((arguments[0], len(arguments) - 1)) if arguments else None
    if command is None:
        print(__doc__, file=sys.stderr)
        return 2
    command(*arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
