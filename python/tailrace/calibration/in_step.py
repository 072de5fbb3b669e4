"""One of several processes that lock a part of a file, write it and unlock it, all in step, as the
ranks of a library do that writes under locks: who is done waits, and keeps its processor meanwhile,
as MPI does. Where WAITS is 0 each goes on at once. Run by its path, with nothing of Tailrace, so
that it starts quickly.

    in_step.py PATH RANK RANKS STEPS BYTES DESCRIPTOR WAITS DOES

DESCRIPTOR is of memory that all share, a number of 8 bytes for each: how far it is. DOES is "lock",
"write", which does without locks, or what each does after it has written to a file of its own:
"end", reading where that ends, "look_up" or "close". Each prints what the steps took, the same
until all of them had arrived, for how long it had no processor just before or after them, and what
each call after a write took, s.
"""

import fcntl
import mmap
import os
import sys
from time import perf_counter

# Another one that ended does not come.
PATIENCE_S = 60.0
# So long others are looked for that use the processors.
LOOKS_S = 0.02


def main() -> None:
    path, does = sys.argv[1], sys.argv[-1]
    rank, ranks, steps, size, shared, waits = map(int, sys.argv[2:-1])
    is_own = does in ("end", "look_up", "close")
    path = f"{path}-{rank}" if is_own else path
    file, block = os.open(path, os.O_RDWR | os.O_CREAT, 0o600), os.urandom(size)
    waited_s = 0.0
    with mmap.mmap(shared, 8 * ranks) as memory, memoryview(memory).cast("q") as come:
        _all_come(come, rank, 1)
        pause_s = _longest_pause_s()
        _all_come(come, rank, 2)
        begin = perf_counter()
        for step in range(steps):
            offset = (step if is_own else step * ranks + rank) * size
            if does == "lock":
                fcntl.lockf(file, fcntl.LOCK_EX, size, offset)
            os.pwrite(file, block, offset)
            if does == "lock":
                fcntl.lockf(file, fcntl.LOCK_UN, size, offset)
            if is_own:
                called = perf_counter()
                _call(does, path, file, offset + size)
                waited_s += perf_counter() - called
            if does == "close":
                file = os.open(path, os.O_RDWR)
            if waits:
                _all_come(come, rank, step + 3)
        took_s = perf_counter() - begin
        # what brings all of it to the servers is no other
        os.fsync(file)
        arrived_s = perf_counter() - begin
        _all_come(come, rank, steps + 3)
        pause_s = max(pause_s, _longest_pause_s())
    print(took_s, arrived_s, pause_s, waited_s / steps)


def _call(does: str, path: str, file: int, end: int) -> None:
    if does == "end":
        os.pread(file, 1, end)
    elif does == "look_up":
        os.stat(path)  # noqa: PTH116 - nothing of Python's between
    else:
        os.close(file)


def _longest_pause_s() -> float:
    longest, begin = 0.0, perf_counter()
    before = begin
    while before < begin + LOOKS_S:
        now = perf_counter()
        longest, before = max(longest, now - before), now
    return longest


def _all_come(come: memoryview, rank: int, step: int) -> None:
    come[rank] = step
    deadline = perf_counter() + PATIENCE_S
    while min(come) < step:
        if perf_counter() > deadline:
            sys.exit(1)


if __name__ == "__main__":
    main()
