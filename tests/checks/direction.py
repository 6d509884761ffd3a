#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each header of papcoll includes only headers of its own folder, and of those before it.

Run in the root of the sources. A header in a folder that is not listed is an error, too: a new folder
is given its place here.
"""

import pathlib
import re
import sys

# From the ground up: a header includes headers of its own folder and of those before it. The headers
# that users include stand above all folders, and papcoll::analysis above them, one layer a line.
FOLDERS = ["base/", "schedule/", "topology/", "node/", "transport/", "arrival/", "algorithms/",
         "runtime/", "choice/", "call/", "gpu/"]
PUBLIC = ""
ANALYSIS = [["model/", "profile/", "baselines/", "pattern/", "statistics/", "simulate/"], ["verify/"],
            ["draw/"], ["report/"], ["what_if/"]]
LAYERS = [[folder] for folder in FOLDERS] + [[PUBLIC]] + ANALYSIS

# Folders of one layer that do not include each other.
STRANGERS = [
    ["pattern/", "statistics/", "simulate/"],
]

# (includer, included): further includes that are refused although the direction is right.
REFUSED = [
    ("algorithms/", "transport/"),
]

# (includer, included): includes that are allowed although the direction is wrong, of what stands in
# for parts of the transport where SMPI simulates the ranks.
ALLOWED = [
    ("transport/message_transports", "simulate/smpi/smpi_endpoint"),
    ("transport/mpi/mpi_calls", "simulate/smpi/nonblocking_collectives"),
]

# What a call that names its algorithm does not compile.
NO_CHOICE = ["choice/selection/", "choice/names/", "algorithms/arrival/", "algorithms/hierarchical/",
             "algorithms/closed_forms", "transport/mpi/"]

# What an umbrella header must not reach, however indirectly.
NOT_REACHED = {
    "papcoll": ["choice/names/", "thread_team", "topology/hwloc", "topology/network_file", "gpu/"],
    "allreduce": NO_CHOICE,
    "request": NO_CHOICE,
    "persistent": NO_CHOICE,
    "communicator": ["choice/names/"],
    "core": ["transport/mpi/mpi"],
}

# Nobody includes these but themselves.
NOBODY_INCLUDES = []

ONLY_INCLUDER_OF_MPI = "transport/mpi/mpi"
INCLUDERS_OF_CUDA = ["gpu/cuda_runtime", "gpu/cuda_faults"]

# The preprocessor's conditions live in these; elsewhere each needs its reason here.
CONDITIONS = {
    "base/config": "what depends on compiler, sanitizer or machine",
    "base/version": "#error where the compiler was not told which C++",
    "topology/hwloc": "#error where PAPCOLL_WITH_HWLOC is missing",
    "transport/message_transports": "simulated ranks have an endpoint of their own",
    "simulate/smpi/simulated_time": "only SMPI lets simulated time pass",
    "profile/wrappers": "functions that MPI-3 has not",
    "base/copying": "<emmintrin.h> is not everywhere",
    "transport/mpi/mpi": "macros that may come from the command line, too",
    "transport/mpi/mpi_calls": "simulated ranks have an MPI library of their own, which lacks some",
    "simulate/smpi/nonblocking_collectives": "the same",
    "version": "names the compiler, and what papcoll was compiled with",
    "mpi_version": "names the MPI library of mpi.h",
    "base/kernels": "other machines' instruction sets have no spelling here",
}
# A header with functions that are compiled once ends with them, where they are.
WITH_BODIES = "#if PAPCOLL_HAS_SHARED_CODE\n"

# Headers of one include those of itself and of the roots before it.
ROOTS = [pathlib.Path(root) for root in ("include/papcoll", "gpu/include/papcoll",
                                         "analysis/include/papcoll", "analysis/src")]


def inside(header: str, folder: str) -> bool:
    return header.startswith(folder) if folder.endswith("/") else header == folder


def room_of(header: str):
    """(layer number, folder) of a header such as 'schedule/plan'; None for one without a place."""
    folder = header[: header.find("/") + 1]
    return next(((number, folder) for number, layer in enumerate(LAYERS) if folder in layer), None)


def matches(header: str, folders) -> bool:
    return any(inside(header, folder) for folder in folders)


def main() -> int:
    complaints = []
    includes, root_of = {}, {}
    for root, path in sorted((r, p) for r in ROOTS for p in r.rglob("*")
                             if p.suffix in (".hpp", ".ipp", ".cuh") or r.name == "src" and p.suffix == ".cpp"):
        name = str(path.relative_to(root).with_suffix(""))
        text = path.read_text(encoding="utf-8")
        root_of.setdefault(name, root)
        # NAME.ipp and NAME.cpp are part of NAME.hpp.
        includes.setdefault(name, []).extend(
            re.findall(r"^\s*#\s*include\s*<papcoll/(.*)\.(?:[hi]pp|cuh)>", text, re.MULTILINE))
        if path.suffix != ".cpp" and not re.match(r"(// SPDX.*\n)?#pragma once\n", text):
            complaints.append(f"{name}: does not begin with #pragma once")
        if re.search(r'^\s*#\s*include\s*"', text, re.MULTILINE):
            complaints.append(f"{name}: includes with quotes; write <papcoll/...>")
        if re.search(r"^\s*#\s*include\s*<mpi\.h>", text, re.MULTILINE):
            if name != ONLY_INCLUDER_OF_MPI:
                complaints.append(f"{name}: includes mpi.h; include <papcoll/transport/mpi/mpi.hpp>")
        if re.search(r"^\s*#\s*include\s*<cu(da|\w*\.h>)", text, re.MULTILINE):
            if name not in INCLUDERS_OF_CUDA:
                complaints.append(f"{name}: includes a header of CUDA; include <papcoll/{INCLUDERS_OF_CUDA[0]}.hpp>")
        if re.search(r"^\s*#\s*(if|ifdef|ifndef|elif)\b", text.replace(WITH_BODIES, ""), re.MULTILINE):
            if name not in CONDITIONS:
                complaints.append(f"{name}: has #if; name the condition in base/config.hpp")

    for name, included in includes.items():
        here = room_of(name)
        if here is None:
            complaints.append(f"{name}: is in a folder that {sys.argv[0]} does not list")
            continue
        for other in included:
            there = room_of(other)
            if other not in includes:
                complaints.append(f"{name}: includes {other}, which does not exist")
            elif there is None or (name, other) in ALLOWED:
                continue
            elif ROOTS.index(root_of[name]) < ROOTS.index(root_of[other]):
                complaints.append(f"{name}: includes {other}, which {root_of[other]} has")
            elif there[0] > here[0]:
                complaints.append(f"{name}: includes {other}, whose folder comes after its own")
            elif there[1] != here[1] and any(
                {here[1], there[1]} <= set(strangers) for strangers in STRANGERS
            ):
                complaints.append(f"{name}: includes {other}; these folders do not know each other")
            elif any(inside(name, a) and inside(other, b) for a, b in REFUSED):
                complaints.append(f"{name}: includes {other}, which its folder must not know")
            elif there[1] != here[1] and matches(other, NOBODY_INCLUDES):
                complaints.append(f"{name}: includes {other}, which only a user may include")

    for umbrella, folders in NOT_REACHED.items():
        reached, todo = {}, [(umbrella, [umbrella])]
        while todo:
            name, way = todo.pop()
            if name in reached:
                continue
            reached[name] = way
            todo += [(other, way + [other]) for other in includes.get(name, [])]
        for name, way in sorted(reached.items()):
            if matches(name, folders):
                complaints.append(f"{umbrella}: reaches {name} by {' > '.join(way)}")

    print("\n".join(complaints) or f"{len(includes)} headers, all in their direction")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
