# SPDX-License-Identifier: BSD-3-Clause
"""Which points are measured, and which of them are still to be. A point is a setting, a library, a
size and a neighbourhood."""

import dataclasses

NEIGHBOURHOODS = ("near", "apart")

# Where the buffers lie, and the options of papcoll-bench for it.
BUFFERS = {
    "private": ["--buffers", "private"],
    "in-place": ["--buffers", "private", "--in-place"],
    "arena": ["--buffers", "arena"],
    "registered": ["--buffers", "registered"],
}

ARRIVALS = ("balanced", "one-late", "uniform")

# What is measured unless the command line says otherwise, and with --full.
USUAL = {"ranks": [2], "arrivals": ["balanced"], "buffers": ["private"]}
FULL = {"ranks": [2, 4, 8], "arrivals": list(ARRIVALS),
        "buffers": ["private", "arena", "registered"]}

# What is called, and the options of papcoll-bench for it.
FORMS = ("allreduce", "reduce", "bcast", "allgather", "reduce_scatter", "gather", "scatter",
         "barrier", "alltoall", "alltoallv", "allgatherv", "gatherv", "scatterv", "scan", "exscan")
CALLS = {form: [form] for form in FORMS} | {
    "strided": ["allreduce", "--layout", "strided:8:64"],
}

KILO = 1024
SIZES = [8, 64, 512, 4 * KILO, 16 * KILO, 64 * KILO, 256 * KILO, KILO**2, 4 * KILO**2]
QUICK = [8, 64 * KILO]
SMALL = 64 * KILO  # up to here a call is so short that many are timed
ITERATIONS = {True: 10000, False: 400}  # by whether it is; fewer where the time of a point is up
WARMUP = 200


@dataclasses.dataclass(frozen=True)
class Setting:
    ranks: int
    pinned: bool
    arrival: str
    buffers: str
    call: str = "allreduce"

    def __str__(self):
        bound = "pinned" if self.pinned else "not pinned"
        return f"{self.call}, {self.ranks} ranks, {bound}, {self.arrival}, {self.buffers}"


def settings(ranks, arrivals, buffers, processors, calls):
    """Ranks are pinned where each can have a processor. A barrier has no buffers."""
    for count in ranks:
        for arrival in arrivals:
            for kind in buffers:
                for call in calls:
                    if call != "barrier" or kind == buffers[0]:
                        yield Setting(count, count <= processors, arrival,
                                      "private" if call == "barrier" else kind, call)


def served(setting, sizes):
    """Those that the call can have: a strided one has whole blocks of 64 bytes, a barrier none."""
    if setting.call == "barrier":
        return [0]
    return [size for size in sizes if setting.call != "strided" or size % 64 == 0]


def candidates(call):
    """Of papcoll-bench: MPI's own first, and papcoll's call without policies last."""
    return ["mpi", *(["mpi:packed"] if call == "strided" else []), "auto"]


def spread_us(size):
    """How far arrivals lie apart: the same for all libraries, about twenty times what a message of
    the size takes (half a microsecond and 5 GB/s)."""
    return round(20 * (0.5 + size / 5e3), 1)


def runs_of(setting, sizes):
    """Runs of papcoll-bench for these sizes: sizes of one run and their spread, None if balanced."""
    if setting.arrival == "balanced":
        both = [size for size in sizes if size <= SMALL], [size for size in sizes if size > SMALL]
        return [(some, None) for some in both if some]
    return [([size], spread_us(size)) for size in sizes]


def effort(sizes, crowded, quick, point_time):
    """Of papcoll-bench, which times a tenth of the iterations in one go. Where ranks share processors, a
    call of a library that does not yield takes milliseconds."""
    if quick:
        return ["--iterations", "20", "--warmup", "2", "--time-limit", "100ms"]
    iterations = ITERATIONS[sizes[-1] <= SMALL] // (10 if crowded else 1)
    return ["--iterations", str(iterations), "--warmup", str(WARMUP), "--precision", "0",
            "--time-limit", point_time]


def bench_options(setting, sizes, spread, crowded, how_long):
    """Of papcoll-bench. Where ranks share processors, a late rank must leave its own, and an instant
    that all agree on comes too early."""
    sized = [] if setting.call == "barrier" else ["--bytes", ",".join(map(str, sizes))]
    options = [*CALLS[setting.call], "--algorithm", *candidates(setting.call), *sized,
               "--arrival", setting.arrival, *BUFFERS[setting.buffers],
               "--start", "barrier" if crowded else "clock",
               "--delay", "sleep" if crowded else "busy", "--json", *how_long]
    return options if spread is None else [*options, "--spread", f"{spread}us"]


def setting_of(row):
    return Setting(row["ranks"], row["binding"] == "pinned", row["arrival"], row["kind"],
                   row["call"])


def measured(rows):
    """For each setting, library and size the neighbourhoods that both candidates were timed in."""
    seen = {}
    for row in rows:
        if row["neighbourhood"] == "mixed":
            continue
        place = seen.setdefault((setting_of(row), row["library"], row["bytes"]), {})
        place.setdefault(row["neighbourhood"], set()).add(row["algorithm"])
    return {key: {where for where, names in places.items() if {"mpi", "auto"} <= names}
            for key, places in seen.items()}


def missing(setting, library, libraries, sizes, seen, wanted):
    """For each size the wanted neighbourhoods in which the library is not measured yet, if there are
    any. `wanted` may be ("any",): one in which all the libraries are measured, whichever it is. Where
    processors have no neighbourhood, none is missing."""
    left = {}
    for size in sizes:
        found = seen.get((setting, library, size), set())
        of_all = set.intersection(*(seen.get((setting, name, size), set()) for name in libraries))
        if "none" in found or ("any" in wanted and of_all):
            continue
        rest = set(NEIGHBOURHOODS if "any" in wanted else wanted) - found
        if rest:
            left[size] = rest
    return left


def due(left, where):
    """The sizes that are missing where the processors are now; None: not known."""
    return [size for size, rest in left.items() if where in (None, "mixed", "none") or where in rest]
