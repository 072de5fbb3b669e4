"""fio's pattern through MPI-IO: each of several ranks writes pages here and there in a file of its
own, and brings every few of them to the disk. scattered.py FOLDER."""

import random
import sys
from pathlib import Path

from mpi4py import MPI

WRITES, PAGE, PAGES, EVERY = 256, 4096, 4096, 64

world = MPI.COMM_WORLD
lot, page = random.Random(world.rank), bytes(PAGE)
path = str(Path(sys.argv[1], f"pages-{world.rank}"))
file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
for number in range(WRITES):
    file.Write_at(lot.randrange(PAGES) * PAGE, page)
    if number % EVERY == EVERY - 1:
        file.Sync()
file.Close()
world.Barrier()
