"""What client and servers take of the processors that programs compute on, as far as they are on
this machine: all that is used while one process makes calls, less what it uses itself. Where others
used the processors just before, nothing is told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tailrace.calibration.probe import MIB, SMALL, Probe, Samples, Sizes, lock
from tailrace.predict.model import Processors, Quantity
from tailrace.predict.spread import NINE_OF_TEN

PREFIX = "worked_"
WRITES, READS, NAMES, LOCKED = 64, 32, 8, 32
# So many blocks between one scattered write and the next: a client may merge what lies close.
APART = 64
# So long others are looked for that use the processors, and so much of all they may use; servers
# may still be busy with what went before, for which so many looks wait.
LOOKS_S = 0.1
QUIET = 0.1
LOOKS = 5
# The kernel counts idle time of each processor in these.
TICKS = os.sysconf("SC_CLK_TCK")


def working(probe: Probe, sizes: Sizes) -> Samples:
    """For each experiment what others than this process used of processors, s."""
    if not is_quiet():
        return {}
    path = probe.file_of(sizes.bulk)
    made = {
        "bulk": lambda: _write(probe, sizes.bulk // MIB, MIB, MIB),
        "writes": lambda: _write(probe, WRITES, SMALL, SMALL),
        "scattered": lambda: _write(probe, WRITES, SMALL, APART * SMALL),
        "locked": lambda: _write_locked(probe),
        "read": lambda: _read(path, sizes.bulk // MIB, MIB, MIB),
        "reads": lambda: _read(path, READS, SMALL, sizes.bulk // READS // SMALL * SMALL),
        "calls": lambda: _name(probe),
    }
    return {f"{PREFIX}{name}": others_s(experiment) for name, experiment in made.items()}


def is_quiet() -> bool:
    """Whether others use no processors, or soon do not any more."""
    most_s = QUIET * LOOKS_S * (os.cpu_count() or 1)
    return any(others_s(lambda: time.sleep(LOOKS_S)) <= most_s for _ in range(LOOKS))


def others_s(call: Callable[[], object]) -> float:
    """What others used of processors while this was done. The kernel knows since when a processor
    is idle; of what runs it may only look now and then what it is."""
    idle_s, own_s, begin_s = _idle_s(), time.process_time(), time.monotonic()
    call()
    passed_s = time.monotonic() - begin_s
    used_s = passed_s * (os.cpu_count() or 1) - (_idle_s() - idle_s)
    return used_s - (time.process_time() - own_s)


def _idle_s() -> float:
    """Of all processors, waiting for a disk counts as well; 0 where the kernel does not say, which
    looks as if others used them all."""
    try:
        idle, waits = Path("/proc/stat").read_text().split(maxsplit=6)[4:6]
    except (OSError, ValueError):
        return 0.0
    return (int(idle) + int(waits)) / TICKS


def _write(probe: Probe, count: int, size: int, stride: int) -> None:
    file, _ = probe.create(probe.new_path())
    for place in range(count):
        probe.write(file, size, place * stride)
    os.fsync(file)
    os.close(file)


def _write_locked(probe: Probe) -> None:
    """As libraries do that lock what they write."""
    file, _ = probe.create(probe.new_path())
    for place in range(LOCKED):
        if lock(file):
            probe.write(file, SMALL, place * SMALL)
            os.lockf(file, os.F_ULOCK, 0)
    os.fsync(file)
    os.close(file)


def _read(path: Path, count: int, size: int, stride: int) -> None:
    file = os.open(path, os.O_RDONLY)
    for place in range(count):
        # in no order that a client would read ahead
        os.pread(file, size, place * 7 % count * stride)
    os.close(file)


def _name(probe: Probe) -> None:
    for _ in range(NAMES):
        path = probe.new_path()
        os.close(probe.create(path)[0])
        os.close(os.open(path, os.O_RDONLY))
        path.stat()
        path.unlink()


# … calls in each round of that.
NAME_CALLS = 6


def processors(rounds: Sequence[Samples], bulk: int) -> Processors | None:
    """None where others used the processors in all but one round, or in all. Idle time is told in
    steps of a hundredth of a second, so the mean over rounds counts, and how well that is known."""
    told = [each for each in rounds if f"{PREFIX}bulk" in each]
    if len(told) < 2:
        return None

    def of(name: str) -> np.ndarray:
        return np.asarray([each[f"{PREFIX}{name}"] for each in told])

    written, read = of("bulk") / bulk, of("read") / bulk
    write = of("writes") / WRITES
    return Processors(
        write=_mean(write - SMALL * written),
        scattered_write=_mean(of("scattered") / WRITES - write),
        read=_mean(of("reads") / READS - SMALL * read),
        lock=_mean((of("locked") / LOCKED - write) / 2),
        call=_mean(of("calls") / (NAMES * NAME_CALLS)),
        written_byte=_mean(written),
        read_byte=_mean(read),
    )


def _mean(values: np.ndarray) -> Quantity:
    mean = float(values.mean())
    off = NINE_OF_TEN * float(values.std(ddof=1)) / len(values) ** 0.5
    low, value, high = (max(each, 0.0) for each in (mean - off, mean, mean + off))
    return Quantity(value=value, low=low, high=high)
