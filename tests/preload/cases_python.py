# SPDX-License-Identifier: BSD-3-Clause
"""Collectives by mpi4py, which opens its MPI library so that nobody else sees it."""
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
x = array("d", [world.rank] * 4)
y = array("d", [0] * 4)
for _ in range(50):
    world.Allreduce([x, MPI.DOUBLE], [y, MPI.DOUBLE])
    assert y[0] == world.size * (world.size - 1) / 2
    assert world.allreduce(1) == world.size
    world.Bcast([y, MPI.DOUBLE])
    world.Barrier()
everything = world.gather(world.rank, root=0)
if world.rank == 0:
    assert everything == list(range(world.size))
    print("all right")
