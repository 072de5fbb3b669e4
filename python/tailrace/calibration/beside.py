"""What writes take to arrive while ranks keep all cores but the writer's: who waits in MPI looks
for messages all the time, so client and servers on the same machine share what is left. What the
writer waits for its core counts, as it does in a run. All are bound to a core each, as launchers
bind ranks: a process that may move makes way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import islice, takewhile
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

from tailrace.calibration.probe import Probe, Samples, Sizes
from tailrace.calibration.waiting import SMALL_WRITES, USUAL, after_small
from tailrace.calibration.working import is_quiet

PROGRAM = Path(__file__).with_name("polling.py")
SUFFIX = "_after_small_beside"
# A machine of many processors would be full of processes that do nothing.
MOST_POLLING = 31
# Until whoever needs a processor has found its turns, and from then on; where calls are short, so
# many tell.
SETTLED_S, MEASURED_S = 1.0, 1.0
MOST_CALLS = 2048
# Calls that wait take this share at least of what the longest of a few does.
WAITS = 1 / 4


def on_a_small_write_beside(probe: Probe, sizes: Sizes) -> Samples:
    """As `on_a_small_write`; nothing where others use the processors, which would be found."""
    own, *others = cores = sorted(os.sched_getaffinity(0))
    if not 1 <= len(others) <= MOST_POLLING or not is_quiet():
        return {}
    with polling(others):
        os.sched_setaffinity(0, {own})
        try:
            name = cheapest_that_waits(probe)
            return {f"{name}{SUFFIX}": _steady(name, probe)}
        finally:
            os.sched_setaffinity(0, cores)


def cheapest_that_waits(probe: Probe) -> str:
    """By a look at a few calls of each kind: of all, many would take long."""
    few = {}
    for name in reversed(USUAL):
        with closing(after_small(name, probe, by_the_clock)) as taken:
            few[name] = fmean(islice(taken, SMALL_WRITES))
    return next(name for name, each in few.items() if each >= WAITS * max(few.values()))


def _steady(name: str, probe: Probe) -> float:
    """What the call takes once whoever needs a processor has found its turns."""
    with closing(after_small(name, probe, by_the_clock)) as taken:
        first = [next(taken), *_for(SETTLED_S, taken)]
        return fmean(_for(MEASURED_S, taken) or first)


def _for(seconds: float, taken: Iterator[float]) -> list[float]:
    """What calls take in that time, of at most `MOST_CALLS`."""
    until = perf_counter() + seconds
    return list(takewhile(lambda _: perf_counter() < until, islice(taken, MOST_CALLS)))


def by_the_clock(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """As `timed`, with what the thread waited for a processor."""
    begin = perf_counter()
    result = call(*arguments)
    return result, perf_counter() - begin


@contextmanager
def polling(cores: Iterable[int]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """While a process keeps each of these cores."""
    words = [sys.executable, "-I", str(PROGRAM), str(os.getpid())]
    with ExitStack() as ends:
        processes = []
        for core in cores:
            started = subprocess.Popen([*words, str(core)], stdout=subprocess.PIPE)
            process = ends.enter_context(started)
            ends.callback(process.kill)
            processes.append(process)
        for process in processes:
            if process.stdout is not None:
                process.stdout.readline()  # it has begun
        yield processes
