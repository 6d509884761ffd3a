# SPDX-License-Identifier: BSD-3-Clause
"""Collectives by mpi4py, the same as in calls_mpif.f90."""
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
x = array("d", [world.rank] * 4)
y = array("d", [0] * 4)
for _ in range(5):
    world.Allreduce([x, MPI.DOUBLE], [y, MPI.DOUBLE])
world.Allreduce(MPI.IN_PLACE, [y, MPI.DOUBLE])
world.Bcast([x, MPI.DOUBLE])
world.Barrier()
world.Iallreduce([x, MPI.DOUBLE], [y, MPI.DOUBLE], op=MPI.MAX).Wait()
