"""A program of mpi4py whose ranks format lines, which rank 0 gathers and writes: routines.py
DIRECTORY. Rank 0 prints what dump() took on all ranks."""

import os
import sys
import time
from pathlib import Path

from mpi4py import MPI

STEPS, LINES = 8, 5000
world = MPI.COMM_WORLD
rank = world.Get_rank()


def step():
    until = time.perf_counter() + 0.01
    while time.perf_counter() < until:
        pass
    world.allreduce(rank)


def dump(file, step):
    world.allreduce(LINES)
    text = "".join([f"{step} {i} {i / (step + 1):.8g}\n" for i in range(LINES)])
    world.Barrier()
    parts = world.gather(text, root=0)
    if rank == 0:
        file.write("".join(parts))
        file.flush()


def run():
    spent = 0.0
    file = Path("out.txt").open("w") if rank == 0 else None  # noqa: SIM115
    for i in range(STEPS):
        step()
        begin = time.perf_counter()
        dump(file, i)
        spent += time.perf_counter() - begin
    return world.reduce(spent)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    taken = run()
    if rank == 0:
        print(f"dump {taken:.6f}")
