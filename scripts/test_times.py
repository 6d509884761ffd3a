#!/usr/bin/env python3
"""Where the time of a configuration's build and tests went:
test_times.py BUILD-DIRECTORY LINES-OF-NINJA-LOG-BEFORE [JUNIT-FILE]"""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree

MOST = 12  # rows of each table


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


def main(arguments):
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    directory, lines_before, *junit = arguments
    table("compiled, by program and by file", compiled(directory, int(lines_before)))
    if junit and pathlib.Path(junit[0]).exists():
        table("tested, by program and by test", tested(junit[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
