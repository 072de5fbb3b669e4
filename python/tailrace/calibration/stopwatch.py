"""What calls take, but for what this thread waited for a processor meanwhile: that is no file
system's doing, and beside other work it is most of what calls on a quick one take."""

from __future__ import annotations

import os
from functools import cache
from time import perf_counter_ns


class Stopwatch:
    """Begins when it is made, by the thread that measures."""

    def __init__(self) -> None:
        self._waited_ns = waited_ns()
        self._begin_ns = perf_counter_ns()

    def elapsed_s(self) -> float:
        elapsed_ns = perf_counter_ns() - self._begin_ns
        without_ns = waited_ns() - self._waited_ns
        # what it waited for just before it began, or just now, is in the one and not in the other
        return (elapsed_ns - without_ns if without_ns < elapsed_ns else elapsed_ns) * 1e-9


def waited_ns() -> int:
    """For how long the thread was ready and had no processor since it began; 0 where the kernel
    does not say."""
    file = _accounts()
    if file is None:
        return 0
    try:
        return int(os.pread(file, 100, 0).split()[1])
    except (OSError, IndexError, ValueError):
        return 0


@cache
def _accounts() -> int | None:
    """One thread measures: the path is its own once it is open."""
    try:
        return os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
