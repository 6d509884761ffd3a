#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""named_call_weight.py MPI-COMPILER: what a call that names its algorithm compiles, by room.

Compiles tests/consumer/named_call/static_schedule.cpp by g++ with -O2, and adds up functions and
bytes of code by the room of include/papcoll that they are written in. A room that is not in LIMITS
must not be there at all. The limits are a tenth above what stood when they were set: lower them
when you can, and say why when you raise one.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Room: (functions, KB of code).
LIMITS = {
    "algorithms": (4, 0.8),
    "arrival": (6, 2.8),  # it looks less often once nothing changes
    "base": (140, 18.5),  # packed layouts, which were elsewhere, are part of it
    "call": (5, 2.3),
    "choice": (9, 3.1),  # names of contracts, which were base's
    "elsewhere": (98, 18.3),
    "node": (52, 15),
    "runtime": (178, 64),  # virtual functions instead of tables of pointers
    "schedule": (102, 20),
    "topology": (23, 12),  # reading lists of processors as sets
    "transport": (111, 26.5),
}


def weigh(compiler):
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(directory) / "call.o"
        gcc = dict(os.environ, OMPI_CXX="g++", MPICH_CXX="g++")
        subprocess.run([compiler, "-std=c++20", "-O2", "-g1", "-pthread", "-I", "include", "-c",
                        "tests/consumer/named_call/static_schedule.cpp", "-o", out],
                       check=True, env=gcc)
        symbols = subprocess.run(["nm", "-S", "-l", "--defined-only", out], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
    rooms = collections.defaultdict(lambda: [0, 0])
    seen = set()
    for line in symbols.splitlines():
        found = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (\S+)(?:\t(.*):\d+)?$", line)
        if not found or re.search("C2E|D2E", found[3]):  # as C1 and D1
            continue
        path = found[4] or ""
        inside = re.search(r"include/papcoll/(.*)", path)
        room = (inside[1].partition("/")[0] if "/" in inside[1] else "(root)") if inside else "elsewhere"
        rooms[room][0] += 1
        rooms[room][1] += int(found[2], 16)
    return rooms


def main():
    version = subprocess.run(["g++", "-dumpversion"], text=True, stdout=subprocess.PIPE).stdout
    if version.strip() != "12":
        print("SKIPPED: the limits are of the code that g++ 12 makes")
        sys.exit(77)
    rooms = weigh(sys.argv[1])
    failed = False
    for room, (functions, size) in sorted(rooms.items()):
        limit = LIMITS.get(room, (0, 0))
        good = functions <= limit[0] and size <= limit[1] * 1000
        failed |= not good
        print(f"{'' if good else 'FAILED: '}{room:18} {functions:4} functions of at most {limit[0]:4}, "
              f"{size / 1000:5.1f} KB of at most {limit[1]:4}")
    sys.exit(failed)


main()
