#!/usr/bin/env python3
"""Each header of papcoll includes only what stands above it.

Run in the root of the sources. A header that no line of LAYERS matches is an error, too: a new room
is given its place here.
"""

import pathlib
import re
import sys

# From the top down. A layer is a list of rooms; a room is a header's name or a directory. A header
# may include its own room, the rooms beside it and all layers above.
LAYERS = [
    ["version"],
    ["config"],
    ["error"],
    ["base/", "op", "layouts", "buffers", "indexed"],
    ["gpu/"],
    ["topology/", "impl/network", "impl/machine", "impl/machine_source", "impl/described_machine",
     "impl/linux", "impl/packed_machine", "model/"],
    ["options"],
    ["schedule/", "plan/", "waiting/"],
    ["mapping/", "impl/map_positions"],
    ["node/"],
    ["transport/", "impl/messages", "impl/find_transport", "impl/mpi_transport",
     "impl/rma_transport", "impl/shm_transport", "impl/thread_transport"],
    ["arrival/"],
    ["algorithms/"],
    ["policies/"],
    ["runtime/"],
    ["select/"],
    # Bodies stand beside their declarations: impl/NAME.ipp with NAME.hpp.
    ["entry/", "impl/run", "impl/blocks", "impl/call_arguments", "impl/passed", "request", "impl/request", "persistent",
     "impl/persistent", "automatic"],
    ["communicator", "impl/communicator", "thread_team", "impl/thread_team"],
    ["recovery", "impl/recovery"],
    ["names/"],
    ["algorithm", "impl/algorithm", "explain", "impl/explain", "hierarchical"],
    ["allreduce", "reduce", "bcast", "allgather", "allgatherv", "reduce_scatter", "gather",
     "gatherv", "scatter", "scatterv", "barrier", "alltoall", "alltoallv", "scan", "exscan",
     "erased", "impl/erased"],
    ["shared_vector", "registration", "impl/registration"],
    ["gpu", "gpu_shared_buffer", "impl/device_call", "impl/device_nodes"],
    ["collectives"],
    ["core"],
    ["papcoll"],
    # Of the target papcoll::analysis, as gpu/model.
    ["profile/", "baselines/", "pattern/", "statistics/", "simulate/"],
    ["verify/"],
    ["draw/"],
    ["report/"],
    ["what_if/"],
]

# Rooms of one layer that do not include each other.
STRANGERS = [
    ["topology/", "model/"],
    ["pattern/", "statistics/", "simulate/"],
]

# (includer, included): further includes that are refused although the direction is right.
REFUSED = [
    ("algorithms/", "transport/"),
]

# What an umbrella header must not reach, however indirectly.
NOT_REACHED = {
    "papcoll": ["pattern/", "statistics/", "verify/", "simulate/", "draw/", "names/", "thread_team",
                "topology/hwloc", "topology/network_file", "baselines/",
                "gpu/"],
    # What a call that names its algorithm does not compile.
    "allreduce": ["select/", "names/", "algorithms/arrival/", "algorithms/hierarchical/", "model/",
                  "transport/mpi/"],
    "request": ["select/", "names/", "algorithms/arrival/", "algorithms/hierarchical/", "model/",
                  "transport/mpi/"],
    "persistent": ["select/", "names/", "algorithms/arrival/", "algorithms/hierarchical/", "model/",
                   "transport/mpi/"],
    "communicator": ["names/"],
    "core": ["transport/mpi/mpi"],
}

# Nobody includes these but themselves.
NOBODY_INCLUDES = []

ONLY_INCLUDER_OF_MPI = "transport/mpi/mpi"
ONLY_INCLUDER_OF_CUDA = "gpu/cuda_runtime"

# The preprocessor's conditions live in these; elsewhere each needs its reason here.
CONDITIONS = {
    "config": "the one room of #if",
    "version": "#error where the compiler was not told which C++",
    "topology/hwloc": "#error where PAPCOLL_WITH_HWLOC is missing",
    "entry/entry": "PAPCOLL_HAS_SHARED_CODE: what is compiled once, where it is",
    "entry/block_arguments": "the same", "entry/call_arguments": "the same",
    "entry/passed": "the same",
    "request": "the same", "persistent": "the same", "communicator": "the same", "thread_team": "the same",
    "topology/network": "the same", "topology/machine": "the same", "topology/machine_source": "the same",
    "topology/linux": "the same", "topology/packed_machine": "the same",
    "registration": "the same", "algorithm": "the same", "automatic": "the same", "explain": "the same", "hierarchical": "the same",
    "erased": "the same", "recovery": "the same",
    "transport/mpi_transport": "the same", "transport/mpi/messages": "the same",
    "topology/described_machine": "the same",
    "transport/find_transport": "the same",
    "transport/rma_transport": "the same", "transport/shm_transport": "the same",
    "transport/thread_transport": "the same", "mapping/map_positions": "the same",
    "algorithms/static/suara": "the same",
    "impl/messages": "simulated ranks have an endpoint of their own",
    "transport/smpi/simulated_time": "only SMPI lets simulated time pass",
    "profile/wrappers": "functions that MPI-3 has not",
    "base/copying": "<emmintrin.h> is not everywhere",
    "transport/mpi/mpi": "macros that may come from the command line, too",
    "transport/mpi/library": "simulated ranks have an MPI library of their own, which lacks some",
    "transport/smpi/library": "the same",
    "base/kernels": "other machines' instruction sets have no spelling here",
}

ROOTS = [pathlib.Path("include/papcoll"), pathlib.Path("analysis/include/papcoll")]


def inside(header: str, room: str) -> bool:
    return header.startswith(room) if room.endswith("/") else header == room


def room_of(header: str):
    """(layer number, room) of a header such as 'plan/order'; None for an unknown one."""
    best = None
    for number, layer in enumerate(LAYERS):
        for room in layer:
            if inside(header, room) and (best is None or len(room) > len(best[1])):
                best = (number, room)
    return best


def matches(header: str, rooms) -> bool:
    return any(inside(header, room) for room in rooms)


def main() -> int:
    complaints = []
    includes, root_of = {}, {}
    for root, path in sorted((r, p) for r in ROOTS for p in r.rglob("*")
                             if p.suffix in (".hpp", ".ipp", ".cuh")):
        name = str(path.relative_to(root).with_suffix(""))
        text = path.read_text(encoding="utf-8")
        root_of[name] = root
        includes[name] = re.findall(r"^\s*#\s*include\s*<papcoll/(.*)\.(?:[hi]pp|cuh)>", text, re.MULTILINE)
        if not text.startswith("#pragma once\n"):
            complaints.append(f"{name}: does not begin with #pragma once")
        if re.search(r'^\s*#\s*include\s*"', text, re.MULTILINE):
            complaints.append(f"{name}: includes with quotes; write <papcoll/...>")
        if re.search(r"^\s*#\s*include\s*<mpi\.h>", text, re.MULTILINE):
            if name != ONLY_INCLUDER_OF_MPI:
                complaints.append(f"{name}: includes mpi.h; include <papcoll/transport/mpi/mpi.hpp>")
        if re.search(r"^\s*#\s*include\s*<cu(da|\w*\.h>)", text, re.MULTILINE):
            if name != ONLY_INCLUDER_OF_CUDA:
                complaints.append(f"{name}: includes a header of CUDA; include <papcoll/{ONLY_INCLUDER_OF_CUDA}.hpp>")
        if re.search(r"^\s*#\s*(if|ifdef|ifndef|elif)\b", text, re.MULTILINE):
            if name not in CONDITIONS:
                complaints.append(f"{name}: has #if; name the condition in config.hpp")

    for name, included in includes.items():
        here = room_of(name)
        if here is None:
            complaints.append(f"{name}: has no place in LAYERS of {sys.argv[0]}")
            continue
        for other in included:
            there = room_of(other)
            if other not in includes:
                complaints.append(f"{name}: includes {other}, which does not exist")
            elif there is None:
                continue
            elif root_of[name] == ROOTS[0] and root_of[other] != ROOTS[0]:
                complaints.append(f"{name}: includes {other}, which papcoll::analysis has")
            elif there[0] > here[0]:
                complaints.append(f"{name}: includes {other}, which stands below it")
            elif there[1] != here[1] and any(
                {here[1], there[1]} <= set(strangers) for strangers in STRANGERS
            ):
                complaints.append(f"{name}: includes {other}; these rooms do not know each other")
            elif any(inside(name, a) and inside(other, b) for a, b in REFUSED):
                complaints.append(f"{name}: includes {other}, which its room must not know")
            elif there[1] != here[1] and matches(other, NOBODY_INCLUDES):
                complaints.append(f"{name}: includes {other}, which only a user may include")

    for umbrella, rooms in NOT_REACHED.items():
        reached, todo = {}, [(umbrella, [umbrella])]
        while todo:
            name, way = todo.pop()
            if name in reached:
                continue
            reached[name] = way
            todo += [(other, way + [other]) for other in includes.get(name, [])]
        for name, way in sorted(reached.items()):
            if matches(name, rooms):
                complaints.append(f"{umbrella}: reaches {name} by {' > '.join(way)}")

    print("\n".join(complaints) or f"{len(includes)} headers, all in their direction")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
