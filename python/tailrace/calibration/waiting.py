"""Which calls wait for what was written: to their own file, or to others, which is on its way."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from statistics import fmean
from typing import Any

from tailrace.calibration.probe import (
    SMALL,
    Probe,
    Samples,
    Sizes,
    forget,
    lock,
    timed,
)


@dataclass(frozen=True)
class Opened:
    path: Path
    file: int
    size: int


CALLS: dict[str, Callable[[Opened], object]] = {
    "open": lambda opened: os.open(opened.path, os.O_RDWR),
    "close": lambda opened: os.close(opened.file),
    "look_up": lambda opened: os.stat(opened.path),  # noqa: PTH116 - as the others
    "lock": lambda opened: lock(opened.file),
    "truncate": lambda opened: os.ftruncate(opened.file, opened.size + 1),
    "other": lambda opened: opened.path.rename(f"{opened.path}-renamed"),
    "read": lambda opened: os.pread(opened.file, SMALL, 0),
    "synchronize": lambda opened: os.fsync(opened.file),
    # a read at the end of the file, which finds nothing
    "end": lambda opened: os.pread(opened.file, SMALL, opened.size),
}
# What a call returns, and what it takes, s.
Clock = Callable[..., tuple[Any, float]]
# Those that take least themselves come last.
USUAL = ("close", "look_up", "end")
UNUSUAL = ("open", "lock", "truncate", "other")
# What reads its own writes finds them in the cache, and what synchronises waits anyhow.
BEHIND = ("open", "close", "look_up", "lock", "truncate", "other", "read", "synchronize")
SMALL_WRITES = 16


def on_own_writes(name: str, probe: Probe, sizes: Sizes) -> Samples:
    """Whether the call waits for what was written to its file."""
    path = probe.new_path()
    file, _ = probe.create(path)
    probe.write_all(file, sizes.bulk)
    return {f"{name}_dirty": _once(name, Opened(path, file, sizes.bulk))}


def behind_writes(probe: Probe, sizes: Sizes) -> Samples:
    """Calls on other files while bytes are on their way: which wait behind them?"""
    samples = {}
    for name in BEHIND:
        path = probe.file_of(SMALL)
        opened = Opened(path, os.open(path, os.O_RDWR), SMALL)
        with probe.on_its_way(sizes.bulk):
            samples[f"{name}_behind"] = _once(name, opened)
    return samples


def _once(name: str, opened: Opened) -> float:
    """What the call took, s; the file is closed afterwards, and not in the cache."""
    result, elapsed = timed(CALLS[name], opened)
    if isinstance(result, int) and name == "open":
        os.close(result)
    if name != "close":
        os.fsync(opened.file)
        forget(opened.file)
        os.close(opened.file)
    return elapsed


def on_a_small_write(probe: Probe, sizes: Sizes) -> Samples:
    """What the calls that wait take when there is little to wait for, the mean of several."""
    samples = {}
    for name in USUAL:
        with closing(after_small(name, probe)) as taken:
            samples[f"{name}_after_small"] = fmean(islice(taken, SMALL_WRITES))
    return samples


def after_small(name: str, probe: Probe, took: Clock = timed) -> Generator[float]:
    """What the call takes after one write to a file, and after the next, without end."""
    path = probe.new_path()
    file, _ = probe.create(path)
    try:
        for end in count(SMALL, SMALL):
            probe.write(file, SMALL, end - SMALL)
            took_s = took(CALLS[name], Opened(path, file, end))[1]
            if name == "close":
                file = os.open(path, os.O_RDWR)
            yield took_s
    finally:
        os.close(file)
