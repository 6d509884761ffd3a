#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Small allreduce on one node: Figures 4.2 to 4.5 of the thesis.

The dynamic leader (the first to arrive reduces what the others bring as they come) against a
static leader (shmem-MVAPICH), recursive doubling (Def-MVAPICH above 1 KB) and the MPI library's
own, balanced and with uniformly random arrivals (Listing 4.2) at MIF 10, 20 and 50. The thesis had
32 ranks."""

import sys

from reproduction import Candidates, Study, parser_of, reproduce

STUDY = Study(
    name="small_allreduce",
    title="Small allreduce on one node",
    about=__doc__,
    candidates={"allreduce": Candidates(
        references=("mpi", "StaticLeader", "RecursiveDoubling"),
        thesis="DynamicLeader",
        others=("MultiLeader", "CombiningTree", "SplitTail", "auto"))},
    sizes="4:64k",
    quick_sizes="4,1k,64k",
    mifs=(0, 10, 20, 50),
    ranks=32)

if __name__ == "__main__":
    sys.exit(reproduce(STUDY, parser_of(STUDY).parse_args()))
