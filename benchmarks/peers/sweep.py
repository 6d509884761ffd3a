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

# What is called, and the options of papcoll-bench for it.
FORMS = ("allreduce", "reduce", "bcast", "allgather", "reduce_scatter", "gather", "scatter",
         "alltoall", "scan", "exscan", "alltoallv", "allgatherv", "gatherv", "scatterv")
CALLS = {form: [form] for form in FORMS} | {
    "strided": ["allreduce", "--layout", "strided:8:64"],
}

KILO = 1024
EVERY = [8 << i for i in range(24)]  # 8 bytes to 64 MB
EVERY_SMALLER = [8 << i for i in range(18)]  # to 1 MB
SOME = [8, 64, 512, 4 * KILO, 32 * KILO, 256 * KILO, KILO**2, 4 * KILO**2, 16 * KILO**2]
QUICK = [8, 64 * KILO]


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


def settings(ranks, arrivals, buffers, processors, calls=("allreduce",)):
    """Ranks are pinned where each can have a processor, and with one late, not pinned as well."""
    for call in calls:
        for count in ranks:
            for arrival in arrivals:
                both = [True, False] if arrival == "one-late" else [True]
                for pinned in both if count <= processors else [False]:
                    for kind in buffers:
                        yield Setting(count, pinned, arrival, kind, call)


def sizes_of(setting):
    if setting.call == "allreduce":
        return EVERY if setting.pinned and setting.arrival == "balanced" else SOME
    every = EVERY_SMALLER if setting.arrival == "balanced" else SOME
    return served(setting, [size for size in every if size <= EVERY_SMALLER[-1]])


def served(setting, sizes):
    """Those that the call can have: a strided one has whole blocks of 64 bytes."""
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
        return [(sizes, None)] if sizes else []
    return [([size], spread_us(size)) for size in sizes]


def bench_options(setting, sizes, spread, crowded, effort):
    """Of papcoll-bench. Where ranks share processors, a late rank must leave its own, and an instant
    that all agree on comes too early."""
    options = [*CALLS[setting.call], "--algorithm", *candidates(setting.call), "--sizes", ",".join(map(str, sizes)),
               "--arrival", setting.arrival, *BUFFERS[setting.buffers],
               "--start", "barrier" if crowded else "clock",
               "--delay", "sleep" if crowded else "busy", "--format", "json", *effort]
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


def missing(setting, library, sizes, seen, wanted):
    """For each size the wanted neighbourhoods that are not measured yet, if there are any. `wanted`
    may be ("any",); where processors have no neighbourhood, none is missing."""
    left = {}
    for size in sizes:
        found = seen.get((setting, library, size), set())
        if "none" in found or ("any" in wanted and found):
            continue
        rest = set(wanted) - found
        if rest:
            left[size] = rest
    return left


def due(left, where):
    """The sizes that are missing where the processors are now; None: not known."""
    return [size for size, rest in left.items()
            if where in (None, "mixed", "none") or where in rest or "any" in rest]
