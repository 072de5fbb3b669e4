"""IOR's pattern through h5py, by several ranks: each writes its blocks of a dataset that all share,
collectively, and reads the next rank's. slabs.py FOLDER."""

import sys
from pathlib import Path

import h5py
import numpy as np
from mpi4py import MPI

BLOCKS, BLOCK = 8, 1 << 18

world = MPI.COMM_WORLD
values = np.full(BLOCK, world.rank, np.float64)


def places(rank: int) -> list[slice]:
    firsts = [(block * world.size + rank) * BLOCK for block in range(BLOCKS)]
    return [slice(first, first + BLOCK) for first in firsts]


with h5py.File(Path(sys.argv[1], "slabs.h5"), "w", driver="mpio", comm=world) as file:
    dataset = file.create_dataset("values", (BLOCKS * world.size * BLOCK,), "f8")
    for place in places(world.rank):
        with dataset.collective:
            dataset[place] = values
    file.flush()
    neighbour = (world.rank + 1) % world.size
    for place in places(neighbour):
        assert dataset[place][0] == neighbour
