#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flat against hierarchical allreduce across nodes: Figures 6.1 to 6.10 and Table 6.1 of the
thesis.

Hierarchical reduce-scatter-allgather (reduce-scatter-gather within each node, Rabenseifner among
the leaders, a broadcast within each node) against flat Rabenseifner, called RSA, balanced and with
one node late: each node in turn, or always the same (--arrival same-node-late), which StragglAR
among the leaders learns; or with every rank at random as in the thesis (--arrival uniform). The
imbalance factors are those of Horovod's large messages with ResNet50 on Beluga and
Cedar (Tables 3.1 and 3.2).

Without a cluster this machine pretends to be one: tests/cluster/virtual_cluster.sh, with the
network limited to --rate. All its nodes share the processors. A call takes as long as the network
does: give sizes of megabytes a --time-limit of half a minute or more."""

import dataclasses
import pathlib
import sys

import reproduction
from reproduction import BadInput, Candidates, Place, Study

STUDY = Study(
    name="flat_against_hierarchical",
    title="Flat against hierarchical allreduce",
    about=__doc__,
    candidates={"allreduce": Candidates(
        references=("Rabenseifner",),
        thesis="Hierarchical:ReduceScatterGather,Rabenseifner",
        others=("Hierarchical:SplitTail,Rabenseifner", "Hierarchical:SplitTail,StragglAR",
                "Hierarchical", "auto", "mpi"))},
    sizes="64k:16M",
    quick_sizes="64k,256k",
    mifs=(0, 1.91, 5.85),
    ranks=8)

VIRTUAL_CLUSTER = reproduction.ROOT / "tests" / "cluster" / "virtual_cluster.sh"
DAY = 86400


def one_node_late(directory, nodes, ranks_per_node, which):
    """A trace for papcoll-bench, which stretches it to the spread: in call i all ranks of node
    which[i] are late, i modulo their number. Ranks must fill the nodes one after the other."""
    directory.mkdir(parents=True, exist_ok=True)
    trace = directory / "one-node-late.trace"
    lines = [" ".join("01"[node == late] for node in range(nodes) for _ in range(ranks_per_node))
             for late in which]
    trace.write_text("\n".join(lines) + "\n", encoding="ascii")
    return f"trace:{trace.name}"


def place_of(arguments, study):
    ranks, nodes = reproduction.ranks_of(arguments, study), arguments.nodes
    if nodes < 2 or ranks % nodes != 0:
        raise BadInput(f"--nodes {nodes}: {ranks} ranks are to be divided among 2 nodes or more")
    each, cores = ranks // nodes, reproduction.processors()
    if arguments.cluster == "groups":
        place = reproduction.this_machine(arguments, study)
        place = dataclasses.replace(
            place, text=f"{place.text}, {nodes} groups of {each} taken for nodes",
            bench_options=("--group-size", str(each)))
    elif arguments.cluster == "real":
        place = Place(launch=[*reproduction.launcher_of(arguments), "-n", str(ranks)], ranks=ranks,
                      text=f"{nodes} nodes with {each} ranks each", oversubscribed=False)
    else:
        place = Place(launch=[str(VIRTUAL_CLUSTER), "--ranks", ",".join([str(each)] * nodes),
                              "--rate", arguments.rate, "--time-limit", str(DAY), "--",
                              *reproduction.launcher_of(arguments), "-n", str(ranks)],
                      ranks=ranks, oversubscribed=ranks > cores,
                      text=f"{nodes} virtual nodes with {each} ranks each, joined at "
                           f"{arguments.rate}, on {cores} processors of one machine")
    if arguments.arrival != "uniform":
        which = range(nodes) if arguments.arrival == "one-node-late" else [nodes - 1]
        trace = one_node_late(pathlib.Path(arguments.output), nodes, each, which)
        place = dataclasses.replace(place, arrival=trace)
    return place


def main():
    parser = reproduction.parser_of(STUDY)
    parser.add_argument("--nodes", type=int, default=4, metavar="N", help="default: %(default)s")
    parser.add_argument("--cluster", choices=("virtual", "real", "groups"), default="virtual",
                        help="virtual: this machine pretends to be one (default); real: --launcher "
                             "starts ranks on nodes, filling one after the other; groups: on one "
                             "machine, neighbours in rank order are taken for nodes")
    parser.add_argument("--rate", default="1gbit", metavar="RATE",
                        help="of a virtual node's network (default: %(default)s)")
    parser.add_argument("--arrival", default="one-node-late",
                        choices=("one-node-late", "same-node-late", "uniform"))
    return reproduction.reproduce(STUDY, parser.parse_args(), place_of)


if __name__ == "__main__":
    sys.exit(main())
