#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Large reduce and allreduce on one node: Figures 5.2 to 5.7 of the thesis.

The arrival-ordered chain (algorithm 5.1; for allreduce with a broadcast) against binomial tree and
reduce-scatter-gather (for allreduce each with a broadcast, and Rabenseifner's, called RSA) and the
MPI library's own, balanced and with uniformly random arrivals (Listing 4.2) at MIF 5 to 75. The
thesis had 4 ranks (Cedar: MIF 10, 20, 50) and 16 (Helios: MIF 20, 50, 75)."""

import sys

from reproduction import Candidates, Study, parser_of, reproduce

STUDY = Study(
    name="large_messages",
    title="Large messages on one node",
    about=__doc__,
    candidates={
        "reduce": Candidates(
            references=("mpi", "Binomial", "ReduceScatterGather"),
            thesis="ArrivalOrder+Chain",
            others=("SplitTail", "CombiningTree", "auto")),
        "allreduce": Candidates(
            references=("mpi", "Rabenseifner", "ReduceThenBcast:Binomial,Binomial",
                        "ReduceThenBcast:ReduceScatterGather,Binomial"),
            thesis="ArrivalOrder+Chain",
            others=("SplitTail", "CombiningTree", "auto"))},
    sizes="64k:64M",
    quick_sizes="64k,512k",
    mifs=(0, 5, 10, 20, 50, 75),
    ranks=4)

if __name__ == "__main__":
    sys.exit(reproduce(STUDY, parser_of(STUDY).parse_args()))
