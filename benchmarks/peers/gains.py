"""From rows of papcoll-bench to gains: the MPI library's time over papcoll's. Nothing here runs
anything."""

import collections
import statistics

import sweep

METRICS = {"balanced": ("median_us", "median time in the call")}
TAIL = ("tail_median_us", "median time from the last arrival to the last exit")
GOOD = {"strided": 2.0}  # by call
USUALLY_GOOD = 1.5
MOST_LISTED = 20  # losing points of a call, above its table, in which all are bold

SAYS = {  # of a call, what its name does not
    "strided": "An allreduce of eight columns of a row-major matrix with 64 "
               "(`--layout strided:8:64`): MPI by a vector datatype and a user's operator for it, "
               "packed: by copies into one piece and back.",
    "alltoallv": "The blocks of all pairs of ranks have lengths by a power law "
                 "(`--counts power-law`), whose mean is the size.",
} | {form: "The blocks of the ranks have lengths by a power law (`--counts power-law`), whose mean "
           "is the size." for form in ("allgatherv", "gatherv", "scatterv")}

TEXT = f"""\
Collectives of doubles. A gain is the time of the best of the MPI libraries at that point over what
papcoll (a call without policies) took in the same run, under that library. Balanced: the
{METRICS['balanced'][1]}; else the {TAIL[1]}.
Points at which papcoll loses are bold. The last columns are the gains over each library in its own
run; the bound is a time that no algorithm can beat.""".splitlines()


def good(call):
    """The gain that is aimed at."""
    return GOOD.get(call, USUALLY_GOOD)


def metric_of(arrival):
    return METRICS.get(arrival, TAIL)


def points(rows):
    """A point for each setting, size and neighbourhood. At each, the best MPI library is compared
    with what papcoll took in the same run, under the same library. Of several rows of a library the
    first counts; rows during which the processors were moved do not."""
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
        result.append({
            "call": setting.call, "ranks": setting.ranks, "pinned": setting.pinned,
            "arrival": setting.arrival, "buffers": setting.buffers, "bytes": size,
            "neighbourhood": where, "metric": name,
            "signal_ns": row["signal_ns"], "bound_us": row["bound_us"], "best": best,
            "best_us": mpi[best], "papcoll_us": papcoll[best], "gain": mpi[best] / papcoll[best],
            "algorithm": row["resolved"], "mpi_us": mpi, "papcoll_us_under": papcoll,
            "gains": {library: mpi[library] / papcoll[library] for library in both},
            "gain_over_packed": over_quickest(packed, papcoll)})
    return result


def over_quickest(packed, papcoll):
    """papcoll's gain over the quickest library with packed copies; None if that was not timed."""
    if not packed:
        return None
    library = min(packed, key=packed.get)
    return packed[library] / papcoll[library]


def order(item):
    setting, size, where = item[0]
    return (list(sweep.CALLS).index(setting.call), setting.ranks, not setting.pinned,
            sweep.ARRIVALS.index(setting.arrival),
            list(sweep.BUFFERS).index(setting.buffers), size, where)


def by_call(found):
    """Points by what was called."""
    calls = collections.OrderedDict()
    for p in found:
        calls.setdefault(p["call"], []).append(p)
    return calls


def summary(found, libraries):
    """Of one call. Least and median gain, and the share of points with a good one: over the best of
    the libraries at each point, and over each of them alone."""
    gains = collections.OrderedDict({"the best at each point": [p["gain"] for p in found]})
    for library in libraries:
        gains[library.title] = [p["gains"][library.name] for p in found
                                if library.name in p["gains"]]
    if found[0]["gain_over_packed"] is not None:
        gains["packed copies, the best at each point"] = [p["gain_over_packed"] for p in found]
    aim = good(found[0]["call"])
    lines = [f"| papcoll over | points | least | median | at least {aim:g} | below 1 |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, values in gains.items():
        if values:
            share = sum(value >= aim for value in values) / len(values)
            lines.append(f"| {name} | {len(values)} | {shown(min(values))} | "
                         f"{shown(statistics.median(values))} | {share:.0%} | "
                         f"{sum(value < 1 for value in values)} |")
    return lines


def overview(found):
    """Least and median gain over the sizes, a line for each number of ranks and pattern: what the
    README shows. Private buffers, also in place, and those that peers see, arena and registered."""
    columns = [(where, seen) for where in ("near", "apart") for seen in (False, True)]
    lines = ["| ranks | arrivals | near: private | near: shared | apart: private | apart: shared |",
             f"| --- | --- |{' ---: |' * len(columns)}"]
    groups = collections.OrderedDict()
    for p in found:
        key = f"{p['ranks']}{', pinned' if p['pinned'] else ''} | {p['arrival']}"
        seen = p["buffers"] in ("arena", "registered")
        groups.setdefault(key, {}).setdefault((p["neighbourhood"], seen), []).append(p["gain"])
    for key, gains in groups.items():
        cells = [f"{shown(min(gains[c]))} / {shown(statistics.median(gains[c]))}" if c in gains
                 else "–" for c in columns]
        lines.append(f"| {key} | {' | '.join(cells)} |")
    return lines


def shown(gain):
    """With as many digits as tell it from 1, and bold where papcoll loses."""
    text = f"{gain:.2f}" if gain < 1.995 else f"{gain:.1f}" if gain < 9.95 else f"{gain:.0f}"
    return f"**{text}**" if gain < 1 else text


def size_label(size):
    for unit in ("", " k", " M"):
        if size < sweep.KILO or unit == " M":
            return f"{size:g}{unit}"
        size /= sweep.KILO
    return None


def table(found, libraries):
    """One line a point of one call."""
    here = [library for library in libraries if any(library.name in p["gains"] for p in found)]
    packed = found[0]["gain_over_packed"] is not None
    head = ["ranks", "arrivals", "buffers", "bytes", "where", "signal, ns", "best", "its µs",
            "papcoll, µs", "gain", "bound, µs", *(["over packed"] if packed else []),
            *(library.title for library in here)]
    lines = [f"| {' | '.join(head)} |",
             f"| ---: | --- | --- | ---: | --- | ---: | --- |{' ---: |' * (len(head) - 7)}"]
    titles = {library.name: library.title for library in libraries}
    for p in found:
        signal = "" if p["signal_ns"] is None else f"{p['signal_ns']:.0f}"
        cells = [f"{p['ranks']}{', pinned' if p['pinned'] else ''}", p["arrival"], p["buffers"],
                 size_label(p["bytes"]), p["neighbourhood"], signal, titles[p["best"]],
                 f"{p['best_us']:.4g}", f"{p['papcoll_us']:.4g}", shown(p["gain"]),
                 f"{p['bound_us']:.3g}", *([shown(p["gain_over_packed"])] if packed else []),
                 *(shown(p["gains"][library.name]) if library.name in p["gains"] else "–"
                   for library in here)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def tables(found, libraries):
    """A table for each call, with a heading if there are several."""
    lines = []
    calls = by_call(found)
    for call, inside in calls.items():
        if len(calls) > 1:
            lines += ["", f"## Every point of {call}", ""]
        lines += table(inside, libraries)
    return lines


def place(p):
    """A point in words."""
    pinned = ", pinned" if p["pinned"] else ""
    size = size_label(p["bytes"])
    unit = " B" if size[-1].isdigit() else "B"
    return (f"{p['ranks']} ranks{pinned}, {p['arrival']}, {p['buffers']}, {size}{unit}, "
            f"{p['neighbourhood']}")


def section(found, libraries):
    """What stands above the table of one call."""
    titles = {library.name: library.title for library in libraries}
    lost = sorted((p for p in found if p["gain"] < 1), key=lambda p: p["gain"])
    few = [p for p in found if len(p["gains"]) < len(libraries)]
    lines = [*summary(found, libraries), "",
             "Over the best at each point, least / median of the sizes:", "", *overview(found), ""]
    for where in sorted({p["neighbourhood"] for p in found}):
        here = [p["gain"] for p in found if p["neighbourhood"] == where]
        lines.append(f"- {where}: {len(here)} points, least gain {shown(min(here))}, median "
                     f"{shown(statistics.median(here))}")
    worst = min(found, key=lambda p: p["gain"])
    lines.append(f"- the worst point: {place(worst)}: {shown(worst['gain'])} over "
                 f"{titles[worst['best']]}")
    lines.append(f"- papcoll loses at {len(lost)} of {len(found)} points")
    lines += [f"  - {place(p)}: {shown(p['gain'])} over {titles[p['best']]}"
              for p in lost[:MOST_LISTED]]
    if len(lost) > MOST_LISTED:
        lines.append(f"  - and {len(lost) - MOST_LISTED} more, bold in the table")
    if few:
        lines.append(f"- at {len(few)} points not all {len(libraries)} libraries were measured (–)")
    return lines


def goals(found):
    """A line for each call: at how many points papcoll is as quick as is aimed at."""
    lines = ["| collective | points | gain aimed at | reached at | worst | below 1 |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for call, inside in by_call(found).items():
        gains = [p["gain"] for p in inside]
        share = sum(gain >= good(call) for gain in gains) / len(gains)
        lines.append(f"| {call} | {len(gains)} | {good(call):g} | {share:.0%} | "
                     f"{shown(min(gains))} | {sum(gain < 1 for gain in gains)} |")
    return lines


def head(found, libraries, about, notes):
    """What stands above the tables. `about`: lines on machine, date and libraries; `notes`: what was
    left out."""
    calls = by_call(found)
    several = len(calls) > 1
    lines = ["# papcoll and other MPI libraries", "", *TEXT, "", *about, ""]
    if several:
        lines += [*goals(found), ""]
    for call, inside in calls.items():
        if several:
            lines += [f"## {call}", ""]
        if call in SAYS:
            lines += [SAYS[call], ""]
        lines += [*section(inside, libraries), *([""] if several else [])]
    return [*lines, *(f"- {note}" for note in notes)]
