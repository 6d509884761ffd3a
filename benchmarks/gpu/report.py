#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report.py OUTPUT [FILE…]: a table of what gpu_bench measured, beside what is wanted.

Each FILE has lines of JSON, by gpu_bench or by scripts/test_gpu.sh. Writes OUTPUT/table.md and
OUTPUT/results.json, and prints the first of them. Exit status: 1 if something was not reached.
"""

import json
import pathlib
import sys

MB = 1 << 20
# Parts of the bound, or of a sum, that are wanted.
OF_MEMORY_BOUND = 0.85
OF_HOST_BOUND = 0.85
OF_PATHS = 0.95
FROM_BYTES = 256 * MB  # of copies over several paths
# Times as quick as MPI on copies in memory of the host, by SharedDevice.
GAIN = 15
GAIN_FROM_BYTES = 64 * MB
KILLS = 100
SECONDS_UNTIL_LOST = 1.0

REACHED, MISSED, SKIPPED = "reached", "MISSED", "SKIPPED"


def size_text(n):
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if n >= unit:
            return f"{n / unit:g} {name}"
    return f"{n} B"


def line(what, wanted, reached, holds):
    return {"line": what, "wanted": wanted, "reached": reached,
            "verdict": REACHED if holds else MISSED}


def of_kind(rows, what):
    return [row for row in rows if row["what"] == what]


def step_lines(rows):
    for row in of_kind(rows, "step"):
        if row["status"] == "skipped":
            yield {"line": row["name"], "wanted": "passes", "reached": row["reason"],
                   "verdict": SKIPPED}
        else:
            yield line(row["name"], "passes", row["status"], row["status"] == "passed")


def result_lines(rows):
    for row in of_kind(rows, "results"):
        yield line(f"types x operators, {row['ranks']} processes", "0 wrong",
                   f"{row['wrong']} wrong of {row['pairs']} pairs by 4 policies, 2 lengths",
                   row["wrong"] == 0 and row["pairs"] > 0)


def allreduce_lines(rows):
    for row in of_kind(rows, "allreduce"):
        if (row["policy"], row["buffers"]) != ("SharedDevice", "shared"):
            continue
        part = row["bound"] / row["seconds"]
        yield line(f"SharedDevice, {row['ranks']} processes, {size_text(row['bytes'])}, in place",
                   f"{OF_MEMORY_BOUND:.0%} of the memory's bound", f"{part:.0%}",
                   part >= OF_MEMORY_BOUND)


def mpi_lines(rows):
    rows = of_kind(rows, "against_mpi")
    for ranks, policy in sorted({(r["ranks"], r["policy"]) for r in rows}):
        mine = [r for r in rows if (r["ranks"], r["policy"]) == (ranks, policy)]
        gains = {r["bytes"]: r["mpi_seconds"] / r["seconds"] for r in mine}
        least = min(gains, key=gains.get)
        quicker = sum(gain >= 1 for gain in gains.values())
        yield line(f"{policy} against MPI through the host, {ranks} processes",
                   "quicker at every size",
                   f"quicker at {quicker} of {len(gains)}, least {gains[least]:.2f} times as quick "
                   f"({size_text(least)})", quicker == len(gains))
        long = {n: gain for n, gain in gains.items() if n >= GAIN_FROM_BYTES}
        if policy == "SharedDevice" and long:
            lowest = min(long, key=long.get)
            yield line(f"{policy} against MPI through the host, {ranks} processes, "
                       f"from {size_text(GAIN_FROM_BYTES)} on", f"{GAIN} times as quick",
                       f"{long[lowest]:.1f} times at least ({size_text(lowest)})",
                       long[lowest] >= GAIN)


def cycle_lines(rows):
    for row in of_kind(rows, "cycles"):
        lost = row["free_before"] - row["free_after"]
        yield line(f"{row['cycles']} times allocate, allreduce, free, {row['ranks']} processes",
                   "no memory lost", f"{lost} bytes lost", lost <= 0)


def lost_lines(rows):
    rows = of_kind(rows, "lost")
    if not rows:
        return
    # In phase k of a job of P ranks k are dead already, and one dies.
    jobs = {row["job"]: row["ranks"] for row in rows}
    kills = sum(ranks - 1 for ranks in jobs.values())
    told = sum(ranks * (ranks - 1) // 2 for ranks in jobs.values())
    right = [row["seconds"] for row in rows if row["outcome"] == "peer_lost"]
    others = sorted({row["outcome"] for row in rows} - {"peer_lost"})
    yield line("ranks that die", f"{KILLS} deaths", f"{kills} deaths", kills >= KILLS)
    yield line("survivors of a death", "all get peer_lost",
               f"{len(right)} of {told}" + (f"; others: {', '.join(others)}" if others else ""),
               len(right) == told)
    slowest = max(right, default=0.0)
    yield line("until peer_lost", f"{SECONDS_UNTIL_LOST:g} s at most", f"{slowest:.3f} s at most",
               bool(right) and slowest <= SECONDS_UNTIL_LOST)


def memory_lines(rows):
    free = [row["free"] for row in of_kind(rows, "memory")]
    if len(free) > 1:
        yield line("the GPU's free memory, before all and after", "the same",
                   f"{free[0]} and {free[-1]} bytes", free[-1] >= free[0])


def path_lines(rows):
    for row in of_kind(rows, "paths"):
        if row["bytes"] >= FROM_BYTES:
            yield line(f"copy over two paths, {size_text(row['bytes'])}",
                       f"{OF_PATHS:.0%} of their sum", f"{row['part']:.1%}",
                       row["part"] >= OF_PATHS)


def host_lines(rows):
    for row in of_kind(rows, "through_host"):
        part = row["bound"] / row["seconds"]
        yield line(f"ThreeStage through the host, {row['ranks']} processes, "
                   f"{size_text(row['bytes'])}", f"{OF_HOST_BOUND:.0%} of the way's bound",
                   f"{part:.0%}", part >= OF_HOST_BOUND and row["was_refused"])


PARTS = [
    ("ctest -L gpu, compute-sanitizer, parts of gpu_bench", "pass", step_lines),
    ("types x operators on random data", "0 wrong", result_lines),
    ("SharedDevice in place", f"{OF_MEMORY_BOUND:.0%} of the memory's bound", allreduce_lines),
    ("against MPI through the host",
     f"quicker at every size, {GAIN} times from {size_text(GAIN_FROM_BYTES)} on", mpi_lines),
    ("10000 times allocate, allreduce, free", "no memory lost", cycle_lines),
    ("ranks that die",
     f"{KILLS} deaths, all survivors get peer_lost within {SECONDS_UNTIL_LOST:g} s", lost_lines),
    ("the GPU's free memory, before all and after", "the same", memory_lines),
    ("copies over two paths", f"{OF_PATHS:.0%} of their sum", path_lines),
    ("ThreeStage through the host", f"{OF_HOST_BOUND:.0%} of the way's bound", host_lines)]


def lines_of(rows):
    for name, wanted, part in PARTS:
        found = list(part(rows))
        yield from found or [{"line": name, "wanted": wanted, "reached": "not run",
                              "verdict": SKIPPED}]


def table(head, cells):
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in cells:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def page(rows):
    keys = ("line", "wanted", "reached", "verdict")
    yield "# On a GPU"
    yield ""
    for row in of_kind(rows, "machine"):
        yield f"{row['gpu']}, {row['mpi']}, papcoll {row['commit']}, {row['date']}."
        yield ""
    yield from table(keys, ([one[key] for key in keys] for one in lines_of(rows)))
    rates = of_kind(rows, "copy") + of_kind(rows, "host_rates")
    if rates:
        yield ""
        yield "Rates, measured in the same run: " + "; ".join(
            f"{name} {value / 1e9:.1f} GB/s" for row in rates for name, value in row.items()
            if name != "what") + "."
    timed = of_kind(rows, "allreduce")
    if timed:
        yield ""
        yield "## Allreduces in place"
        yield ""
        yield from table(("processes", "bytes", "policy", "buffers", "ms", "bound, ms", "part"), (
            [r["ranks"], size_text(r["bytes"]), r["policy"], r["buffers"],
             f"{r['seconds'] * 1e3:.3f}", f"{r['bound'] * 1e3:.3f}",
             f"{r['bound'] / r['seconds']:.0%}"] for r in timed))
    paths = of_kind(rows, "paths")
    if paths:
        yield ""
        yield "## Copies over two paths"
        yield ""
        yield ("One GPU has no slow direct path. Here it is copies within its memory, of which each "
               f"piece is done {paths[0]['slowed_by']} times.")
        yield ""
        yield from table(("bytes", "direct, GB/s", "host, GB/s", "both, GB/s", "of their sum"), (
            [size_text(r["bytes"])] + [f"{r[key] / 1e9:.1f}" for key in ("direct", "host", "both")]
            + [f"{r['part']:.1%}"] for r in paths))
    compared = of_kind(rows, "against_mpi")
    if compared:
        yield ""
        yield "## Against MPI on copies in pinned memory of the host"
        yield ""
        yield from table(("processes", "bytes", "policy", "µs", "MPI, µs", "times as quick"), (
            [r["ranks"], size_text(r["bytes"]), r["policy"], f"{r['seconds'] * 1e6:.1f}",
             f"{r['mpi_seconds'] * 1e6:.1f}", f"{r['mpi_seconds'] / r['seconds']:.2f}"]
            for r in compared))


def read(files):
    rows = []
    for file in files:
        for text in pathlib.Path(file).read_text(encoding="utf-8").splitlines():
            if text.startswith("{"):  # MPI's launchers and libraries say other things, too
                rows.append(json.loads(text))
    return rows


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    output = pathlib.Path(sys.argv[1])
    rows = read(sys.argv[2:])
    lines = list(lines_of(rows))
    text = "\n".join(page(rows)) + "\n"
    output.mkdir(parents=True, exist_ok=True)
    (output / "table.md").write_text(text, encoding="utf-8")
    (output / "results.json").write_text(
        json.dumps({"lines": lines, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    print(text, end="")
    return 1 if any(one["verdict"] == MISSED for one in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
