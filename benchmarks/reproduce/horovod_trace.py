#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""horovod_trace.py DIR: a synthetic trace of a training job with Horovod.

Writes trace files as papcoll-profile does, one for each of 64 ranks on 16 nodes, of which the figures
are those that the thesis publishes for ResNet50 on Beluga: the shares of the collectives, the sizes
of their messages, and the means of the imbalance factors, cluster-wide and node-wide. What it does
not publish is assumed: one-way times as of InfiniBand EDR, imbalance times that are steady for long
and then jump (the thesis says phased), log-normal around their mean. `papcoll report DIR` and
papcoll-figures read it; `papcoll report DIR --export-arrivals` makes of it arrivals for papcoll-bench.

Source: P. Alizadeh, Efficient Process Arrival Pattern Aware Collective Communication for HPC and
Deep Learning, MASc thesis, Queen's University, 2021, sections 3.2.2 to 3.2.4, tables 3.1 and 3.3.
"""

import argparse
import math
import pathlib
import random
import struct
import sys

# As analysis/include/papcoll/profile/trace_format.hpp.
COLLECTIVES = {"bcast": 1, "gather": 2, "gatherv": 3, "allgather": 6, "allreduce": 12}
SUM, FLOAT, INT8 = 2, 12, 15
HEADER_BYTES = 4096
FINISHED = 2

CALLS = 3000
# Section 3.2.2; the last is what is left.
SHARES = {"allreduce": 0.84, "bcast": 0.11, "allgather": 0.03, "gather": 0.01, "gatherv": 0.01}
# Section 3.2.4: of the allreduces 93 % are small, nearly all of 8 bytes, and 7 % large.
LARGE_SHARE = 0.07
# Tables 3.1 and 3.3: Ω/α and Δ̄/α, cluster-wide and node-wide.
FACTORS = {"small": (27175.09, 4237.89, 4678.81, 1774.70),
           "large": (1.91, 0.29, 0.45, 0.15)}
# Section 3.2.4: large allreduces take 22 % of the time of allreduces; section 3.2.3: all other
# collectives take 5 % of the time of collectives.
LARGE_TIME = 0.22
OTHERS_TIME = 0.05
RANKS_A_NODE = 4


def one_way_ns(size, between_nodes):
    """Assumed: 1.5 µs and 11 GB/s between nodes, 0.4 µs and 8 GB/s on one."""
    return (1500 + size / 11.0) if between_nodes else (400 + size / 8.0)


def spread_of(ranks, random_of):
    """Arrivals between 0 and 1 whose Δ̄/Ω is about that of the thesis (1 to 6.4): most nodes come
    together, one is last, and some are between."""
    nodes = ranks // RANKS_A_NODE
    late = {n: random_of.random() ** 3 for n in random_of.sample(range(nodes), max(1, nodes // 5))}
    late[random_of.choice(list(late))] = 1.0
    return [late.get(r // RANKS_A_NODE, 0) for r in range(ranks)]


def scaled(values, low, high):
    least, most = min(values), max(values)
    return [low + (v - least) / (most - least) * (high - low) for v in values]


def arrivals_of(ranks, omega, node_omega, random_of):
    """Arrivals in ns with this Ω, and on each node on average this one."""
    nodes = spread_of(ranks, random_of)
    inside = []
    for _ in range(ranks // RANKS_A_NODE):
        part = [random_of.random() for _ in range(RANKS_A_NODE)]
        inside += scaled(part, 0, random_of.uniform(0.5, 1.5) * node_omega)
    times = [n * max(omega - node_omega, 0) + i for n, i in zip(nodes, inside)]
    return scaled(times, 0, omega)


def phased(n, mean, random_of):
    """n numbers with this mean: steady for long, then another level; a few spikes."""
    values, level, left = [], 1.0, 0
    for _ in range(n):
        if left == 0:
            level, left = math.exp(random_of.gauss(0, 0.5)), random_of.randint(50, 400)
        left -= 1
        spike = 5 if random_of.random() < 0.01 else 1
        values.append(level * spike * math.exp(random_of.gauss(0, 0.15)))
    average = sum(values) / n
    return [v * mean / average for v in values]


def plan_of(calls, random_of):
    """(collective, bytes, range of its imbalance) of every call."""
    plan = []
    for name, share in SHARES.items():
        for _ in range(round(calls * share)):
            if name != "allreduce":
                plan.append((name, random_of.choice((4, 64, 4096)), "small"))
            elif random_of.random() < LARGE_SHARE:
                # Up to the fusion buffer of 64 MiB.
                plan.append((name, random_of.choice((4, 16, 32, 64)) << 20, "large"))
            else:
                plan.append((name, 8, "small"))
    random_of.shuffle(plan)
    return plan


def waited(times):
    """The mean over the ranks of what they wait for the last."""
    return max(times) - sum(times) / len(times)


def make(ranks, calls, seed):
    """For each call its facts, arrivals and exit, on the clock of rank 0."""
    random_of = random.Random(seed)
    plan = plan_of(calls, random_of)
    numbers = {kind: iter(phased(sum(1 for p in plan if p[2] == kind), 1.0, random_of))
               for kind in FACTORS}
    spread = []
    for name, size, kind in plan:
        worst, _, node_worst, _ = FACTORS[kind]
        factor = next(numbers[kind])
        spread.append(arrivals_of(ranks, worst * one_way_ns(size, True) * factor,
                                  node_worst * one_way_ns(size, False) * factor, random_of))

    # What follows the last arrival: a tree's steps, or in large allreduces as much more a byte as
    # makes their part of the time that of the thesis. Other collectives' ranks come closer together,
    # so that their part is right, too.
    def total(chosen):
        return sum(waited(t) for t, p in zip(spread, plan) if chosen(p))

    steps = math.log2(ranks)
    small = total(lambda p: p[0] == "allreduce" and p[2] == "small")
    large = total(lambda p: p[0] == "allreduce" and p[2] == "large")
    others = total(lambda p: p[0] != "allreduce")
    large_bytes = sum(p[1] for p in plan if p[2] == "large")
    ns_a_byte = (small * LARGE_TIME / (1 - LARGE_TIME) - large) / large_bytes
    closer = small / (1 - LARGE_TIME) * OTHERS_TIME / (1 - OTHERS_TIME) / others
    now, made = 1e9, []
    for (name, size, kind), times in zip(plan, spread):
        if name != "allreduce":
            times = [t * closer for t in times]
        cost = size * ns_a_byte if kind == "large" else one_way_ns(size, True) * steps
        last = max(times)
        made.append((name, size, [round(now + t) for t in times], round(now + last + cost)))
        now += last + cost + 1e6
    return made


def size_class(size):
    return size.bit_length()


def file_of(rank, ranks, made, seed):
    """A trace file's bytes."""
    records = 1 << max(1, math.ceil(math.log2(len(made))))
    totals = 256
    modules_at = HEADER_BYTES
    sites_at = modules_at + 512
    names = list(COLLECTIVES)
    communicators_at = (sites_at + 24 * len(names) + 63) // 64 * 64
    totals_at = communicators_at + 64
    records_at = totals_at + 64 * totals
    data = bytearray(records_at + 64 * records)
    began, ended = made[0][2][rank] - 10**6, made[-1][3] + 10**6
    node = rank // RANKS_A_NODE * RANKS_A_NODE
    header = struct.pack(
        "<8sIIQQ10QQQiiiiqiIiIiIQQq", b"PAPTRACE", 3, 0x01020304, HEADER_SIZE, len(data), modules_at,
        1, sites_at, len(names), communicators_at, 1, totals_at, totals, records_at, records, seed + 1,
        0, rank, ranks, node, 0, 1000 + rank, 0, FINISHED, 0, 0, 0, 0, began, ended, 0)
    header += struct.pack("<8q", began, 0, 0, 1, ended, 0, 0, 1)
    header += struct.pack("<64s64s256s256s256s", f"node{node // RANKS_A_NODE}".encode(), b"one clock",
                          b"horovod (synthetic)", b"", b"synthetic, after the thesis's tables")
    for between in (False, True):
        header += struct.pack("<32d", *(one_way_ns(1 << i, between) for i in range(32)))
    header += b"\0" * (-len(header) % 64)
    header += struct.pack("<8Q", len(made), 1, len(names), 1, 0, 0, 0, 1)
    assert len(header) == HEADER_SIZE
    data[:len(header)] = header
    path = b"horovod"
    struct.pack_into(f"<QII32s{len(path)}s", data, modules_at, 0, len(path), 0, b"", path)
    for i in range(len(names)):
        struct.pack_into("<QQII", data, sites_at + 24 * i, 0x1000 * (i + 1), 0x1000 * (i + 1), 0, 0)
    struct.pack_into("<QQIiiI32s", data, communicators_at, 1, len(made), 0, rank, ranks, 0,
                     b"MPI_COMM_WORLD")
    sums = {}
    for n, (name, size, arrivals, leaves) in enumerate(made):
        site = names.index(name)
        reduces = name == "allreduce"
        struct.pack_into("<QQQQQIIiHHHHI", data, records_at + 64 * n, arrivals[rank], leaves, size, n,
                         n + 1, site, 0, -1 if name.startswith("all") else 0, COLLECTIVES[name],
                         FLOAT if size > 8 else INT8, SUM if reduces else 0, 0, 0)
        key = 1 << 63 | site << 24 | COLLECTIVES[name] << 16 | size_class(size)
        calls, time, total, longest = sums.get(key, (0, 0, 0, 0))
        took = leaves - arrivals[rank]
        sums[key] = (calls + 1, time + took, total + size, max(longest, took))
    for i, (key, values) in enumerate(sums.items()):
        struct.pack_into("<5Q", data, totals_at + 64 * i, key, *values)
    return bytes(data)


# sizeof(FileHeader): up to the counters, which begin a cache line, and those.
HEADER_SIZE = (struct.calcsize("<8sIIQQ10QQQiiiiqiIiIiIQQq8q64s64s256s256s256s64d") + 63) // 64 * 64 + 64


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=64, help="a multiple of 4 (default: 64)")
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.ranks < 2 * RANKS_A_NODE or options.ranks % RANKS_A_NODE != 0 or options.calls < 100:
        print("horovod_trace.py: 8 ranks or more, a multiple of 4, and 100 calls or more",
              file=sys.stderr)
        return 2
    made = make(options.ranks, options.calls, options.seed)
    options.directory.mkdir(parents=True, exist_ok=True)
    for rank in range(options.ranks):
        file = options.directory / f"rank-{rank:05}.trace"
        file.write_bytes(file_of(rank, options.ranks, made, options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
