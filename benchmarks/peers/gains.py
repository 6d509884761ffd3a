# SPDX-License-Identifier: BSD-3-Clause
"""From rows of papcoll-bench to gains: the MPI library's time over papcoll's. Nothing here runs
anything."""

import collections
import math
import statistics

import sweep

METRICS = {"balanced": ("median_us", "median time in the call")}
TAIL = ("tail_median_us", "median time from the last arrival to the last exit")
WHERE = {"near": "The processors share an L3 cache", "apart": "The processors share no L3 cache",
         "none": "No two ranks may run on different processors"}

SAYS = {  # of calls, what their names do not
    ("alltoallv", "allgatherv", "gatherv", "scatterv"):
        "The blocks of the forms with v have lengths by a power law (`--counts power-law`), whose mean "
        "is the size.",
    ("strided",): "strided is an allreduce of eight columns of a row-major matrix with 64 (`--layout "
                  "strided:8:64`): MPI by a vector datatype and a user's operator for it, packed: by "
                  "copies into one piece and back."}

TEXT = f"""\
Collectives of doubles. A gain is the time of the best of the MPI libraries at that point over what
papcoll (a call without policies) took in the same run, under that library. Balanced: the
{METRICS['balanced'][1]}; else the {TAIL[1]}.
A star: papcoll loses by more than the half width of the gain's 95 % confidence interval.""".splitlines()


def metric_of(arrival):
    return METRICS.get(arrival, TAIL)


def points(rows):
    """A point for each setting, size and neighbourhood. At each, the best MPI library is compared
    with what papcoll took in the same run, under the same library. Of several rows of a library the
    first counts; rows during which the processors were moved do not, nor does a neighbourhood in
    which fewer libraries were measured than in another one."""
    found = {}
    for row in rows:
        if row["neighbourhood"] == "mixed":
            continue
        key = (sweep.setting_of(row), row["bytes"], row["neighbourhood"])
        found.setdefault(key, {}).setdefault((row["library"], row["algorithm"]), row)
    result = []
    for (setting, size, where), timed in sorted(found.items(), key=order):
        name = metric_of(setting.arrival)[0]
        both = [library for library, algorithm in timed
                if algorithm == "mpi" and (library, "auto") in timed]
        if not both:
            continue
        mpi = {library: timed[library, "mpi"][name] for library in both}
        papcoll = {library: timed[library, "auto"][name] for library in both}
        best = min(both, key=lambda library: mpi[library])
        row = timed[best, "auto"]
        packed = {library: timed[library, "mpi:packed"][name] for library in both
                  if (library, "mpi:packed") in timed}
        gain = mpi[best] / papcoll[best]
        half = interval(timed[best, "mpi"], row, name)
        result.append({
            "call": setting.call, "ranks": setting.ranks, "pinned": setting.pinned,
            "arrival": setting.arrival, "buffers": setting.buffers, "bytes": size,
            "neighbourhood": where, "metric": name,
            "signal_ns": row["signal_ns"], "bound_us": row["bound_us"], "best": best,
            "best_us": mpi[best], "papcoll_us": papcoll[best], "gain": gain, "gain_ci95": half,
            "lost": half is not None and gain + half < 1,
            "algorithm": row["resolved"], "mpi_us": mpi, "papcoll_us_under": papcoll,
            "gains": {library: mpi[library] / papcoll[library] for library in both},
            "gain_over_packed": over_quickest(packed, papcoll)})
    most = collections.Counter()
    for p in result:
        most[apart_from_where(p)] = max(most[apart_from_where(p)], len(p["gains"]))
    return [p for p in result if len(p["gains"]) == most[apart_from_where(p)]]


def apart_from_where(p):
    return p["call"], p["ranks"], p["arrival"], p["buffers"], p["bytes"]


def interval(native, own, name):
    """Half the width of the gain's confidence interval; None where a time's is not known."""
    of_time = name.replace("_us", "_ci95_us")
    if native.get(of_time) is None or own.get(of_time) is None:
        return None
    return native[name] / own[name] * math.hypot(native[of_time] / native[name],
                                                 own[of_time] / own[name])


def over_quickest(packed, papcoll):
    """papcoll's gain over the quickest library with packed copies; None if that was not timed."""
    if not packed:
        return None
    library = min(packed, key=packed.get)
    return packed[library] / papcoll[library]


def order(item):
    setting, size, where = item[0]
    return (setting.ranks, not setting.pinned, sweep.ARRIVALS.index(setting.arrival),
            list(sweep.BUFFERS).index(setting.buffers), where != "near", where,
            list(sweep.CALLS).index(setting.call), size)


def grouped(found, key):
    groups = collections.OrderedDict()
    for p in found:
        groups.setdefault(key(p), []).append(p)
    return groups


def shown(gain, lost=False):
    """With as many digits as tell it from 1, and a star where papcoll loses."""
    text = f"{gain:.2f}" if gain < 1.995 else f"{gain:.1f}" if gain < 9.95 else f"{gain:.0f}"
    return f"{text}*" if lost else text


def size_label(size):
    for unit in ("", " k", " M"):
        if size < sweep.KILO or unit == " M":
            return f"{size:g}{unit}"
        size /= sweep.KILO
    return None


def place(p):
    """Where a point lies, but for its collective and size."""
    return (f"{p['ranks']} ranks{', pinned' if p['pinned'] else ''}, {p['arrival']}, "
            f"{p['buffers']}, {p['neighbourhood']}")


def line_of(name, inside, sizes):
    """Of the summary: the gain at each size, the least, the median and how many are below 1."""
    by_size = {p["bytes"]: shown(p["gain"], p["lost"]) for p in inside}
    worst = min(inside, key=lambda p: p["gain"])
    gains = [p["gain"] for p in inside]
    below = sum(gain < 1 for gain in gains)
    cells = [name, *(by_size.get(size, "") for size in sizes), shown(worst["gain"], worst["lost"]),
             shown(statistics.median(gains)), str(below)]
    return f"| {' | '.join(cells)} |"


def summary(found, libraries):
    """Of points that have all but collective and size in common: a line for each collective, and the
    gains over each library alone."""
    sizes = sorted({p["bytes"] for p in found} - {0})
    lines = [f"| collective | {' | '.join([*map(size_label, sizes), 'least', 'median'])} | below 1 |",
             f"| --- |{' ---: |' * (len(sizes) + 3)}"]
    lines += [line_of(call, inside, sizes)
              for call, inside in grouped(found, lambda p: p["call"]).items()]
    alone = {f"over {library.title} alone": [p["gains"][library.name] for p in found
                                             if library.name in p["gains"]] for library in libraries}
    lines.append("")
    for name, gains in {"all": [p["gain"] for p in found], **alone}.items():
        if gains:
            lines.append(f"- {name}: least {shown(min(gains))}, median "
                         f"{shown(statistics.median(gains))}, {sum(gain < 1 for gain in gains)} of "
                         f"{len(gains)} below 1")
    return lines


def summaries(found, libraries):
    lines = []
    for where, inside in grouped(found, place).items():
        signals = [p["signal_ns"] for p in inside if p["signal_ns"] is not None]
        signal = f" (a signal takes {statistics.median(signals):.0f} ns)" if signals else ""
        lines += [f"## {where}", "", f"{WHERE[inside[0]['neighbourhood']]}{signal}.", "",
                  *summary(inside, libraries), ""]
    return lines


def head(found, libraries, about, notes):
    """What stands above the table of all points. `about`: lines on machine, date and libraries;
    `notes`: what was left out."""
    called = {p["call"] for p in found}
    return ["# papcoll and other MPI libraries", "", *TEXT,
            *(text for calls, text in SAYS.items() if called & set(calls)), "",
            *about, *(f"- {note}" for note in notes), "", *summaries(found, libraries)]


def lost(found, libraries):
    """The points at which papcoll loses, the worst first."""
    titles = {library.name: library.title for library in libraries}
    worst = sorted((p for p in found if p["lost"]), key=lambda p: p["gain"])
    return [f"- {p['call']}, {size_label(p['bytes'])}, {place(p)}: {shown(p['gain'])} ± "
            f"{p['gain_ci95']:.2f}, {titles[p['best']]} {p['best_us']:.4g} µs, {p['algorithm']} "
            f"{p['papcoll_us']:.4g}, bound {p['bound_us']:.3g}" for p in worst]


def table(found, libraries):
    """One line a point."""
    here = [library for library in libraries if any(library.name in p["gains"] for p in found)]
    packed = any(p["gain_over_packed"] is not None for p in found)
    head_cells = ["collective", "ranks", "arrivals", "buffers", "bytes", "where", "signal, ns",
                  "best", "its µs", "papcoll, µs", "gain", "±", "bound, µs",
                  *(["over packed"] if packed else []), *(library.title for library in here)]
    lines = [f"| {' | '.join(head_cells)} |",
             f"| --- | ---: | --- | --- | ---: | --- | ---: | --- |{' ---: |' * (len(head_cells) - 8)}"]
    titles = {library.name: library.title for library in libraries}
    for p in found:
        over = p["gain_over_packed"]
        cells = [p["call"], f"{p['ranks']}{', pinned' if p['pinned'] else ''}", p["arrival"],
                 p["buffers"], size_label(p["bytes"]), p["neighbourhood"],
                 "" if p["signal_ns"] is None else f"{p['signal_ns']:.0f}", titles[p["best"]],
                 f"{p['best_us']:.4g}", f"{p['papcoll_us']:.4g}", shown(p["gain"], p["lost"]),
                 "" if p["gain_ci95"] is None else f"{p['gain_ci95']:.2f}", f"{p['bound_us']:.3g}",
                 *([shown(over) if over is not None else ""] if packed else []),
                 *(shown(p["gains"][library.name]) if library.name in p["gains"] else "–"
                   for library in here)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
