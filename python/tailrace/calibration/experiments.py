"""What is measured, each experiment for a few parameters of the model. A round makes all of them
once, in an order drawn anew, so that a machine that becomes slower disturbs all alike.

What a program takes is a sum of calls, so of several calls it is their mean that counts. Every
experiment returns samples by name: seconds, bytes a second, bytes, or yes and no as 1 and 0.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from statistics import fmean
from typing import Any

from tailrace.calibration import waiting
from tailrace.calibration.among import on_small_writes_of_several
from tailrace.calibration.beside import on_a_small_write_beside
from tailrace.calibration.locking import writes_under_locks
from tailrace.calibration.probe import (
    KIB,
    MIB,
    SMALL,
    Probe,
    Samples,
    Sizes,
    forget,
    lock,
    timed,
)
from tailrace.calibration.short_writes import short_writes_of_several
from tailrace.calibration.working import working

NAMES = 8
SMALL_READS = 32
# Bytes after a pause: more than buckets hold at usual rates.
AFTER_A_PAUSE = (256 * KIB, MIB)
PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
FEW_WRITES, MANY_WRITES = 8, 64
# So many blocks between one scattered write and the next: a client may merge what lies close.
APART = 64


def metadata(probe: Probe, sizes: Sizes) -> Samples:
    """Calls that move nothing, on files that nobody else has open; each on several, one after
    another, as programs make many alike: the first of them takes longer."""
    names = [(str(probe.new_path()), str(probe.new_path())) for _ in range(NAMES)]
    samples: Samples = {}

    def each(name: str, calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        results, times = zip(*(timed(*call) for call in calls), strict=True)
        samples[name] = fmean(times)
        return list(results)

    making = os.O_CREAT | os.O_RDWR | os.O_TRUNC
    files = each("create", ((os.open, path, making, 0o600) for path, _ in names))
    locked = each("lock", ((lock, file) for file in files))
    samples["lock_refused"] = float(not all(locked))
    each("truncate", ((os.ftruncate, file, SMALL) for file in files))
    for file in files:
        os.fsync(file)
    each("synchronize_clean", ((os.fsync, file) for file in files))
    each("mode", ((os.fchmod, file, 0o640) for file in files))
    each("times", ((os.utime, file) for file in files))
    each("close", ((os.close, file) for file in files))
    each("look_up", ((os.stat, path) for path, _ in names))
    for file in each("open", ((os.open, path, os.O_RDONLY) for path, _ in names)):
        os.close(file)
    each("rename", ((os.rename, path, renamed) for path, renamed in names))
    each("remove", ((os.unlink, renamed) for _, renamed in names))
    return samples


def small_writes(probe: Probe, sizes: Sizes) -> Samples:
    """So little that it stays in the client's cache, one behind the other."""
    call, sent = _each_write(probe, SMALL)
    return {"small_write": call, "small_sent": sent, "synchronize_dirty": _synchronizing(probe)}


def _synchronizing(probe: Probe) -> float:
    """What bringing each of several small writes to the servers takes, as databases do."""
    file, _ = probe.create(probe.new_path())
    taken = []
    for place in range(FEW_WRITES):
        probe.write(file, SMALL, place * SMALL)
        taken.append(timed(os.fsync, file)[1])
    os.close(file)
    return fmean(taken)


def scattered_writes(probe: Probe, sizes: Sizes) -> Samples:
    """The same, each elsewhere."""
    call, sent = _each_write(probe, APART * SMALL)
    return {"scattered_write": call, "scattered_sent": sent}


def _each_write(probe: Probe, stride: int) -> tuple[float, float]:
    """What one of many writes takes, and what each of them adds to the time until all are on the
    servers, s."""
    _, few = _many_writes(probe, FEW_WRITES, stride)
    call, many = _many_writes(probe, MANY_WRITES, stride)
    return call, (many - few) / (MANY_WRITES - FEW_WRITES)


def _many_writes(probe: Probe, writes: int, stride: int) -> tuple[float, float]:
    """What a write takes, and then what it takes until all are on the servers, s."""
    file, _ = probe.create(probe.new_path())
    call = fmean([probe.write(file, SMALL, place * stride) for place in range(writes)])
    drained = timed(os.fsync, file)[1]
    os.close(file)
    return call, drained


def bulk_write(probe: Probe, sizes: Sizes) -> Samples:
    """Until all is on the servers; token buckets are full when it begins."""
    time.sleep(PAUSE_S)
    blocks, drained = _write_and_drain(probe, [sizes.bulk])
    return {
        "write_rate": sizes.bulk / (sum(blocks) + drained),
        "copy_rate": MIB / blocks[0],  # later ones may wait for room
    }


def after_a_pause(probe: Probe, sizes: Sizes) -> Samples:
    """Until all is on the servers, of more and less, when the way has stood idle: a token bucket
    is full then."""
    samples = {}
    for size in (SMALL, *AFTER_A_PAUSE):
        file, _ = probe.create(probe.new_path())
        os.fsync(file)
        time.sleep(PAUSE_S)
        written = probe.write(file, size, 0)
        samples[f"after_pause_{size}"] = written + timed(os.fsync, file)[1]
        os.close(file)
    return samples


def room(probe: Probe, sizes: Sizes) -> Samples:
    """How much is on its way when the last write ends, and how fast the late ones are, as a
    multiple of the way's rate: those that wait for room are as fast."""
    blocks, drained = _write_and_drain(probe, [sizes.room])
    rate = sizes.room / (sum(blocks) + drained)
    return {
        "under_way": rate * drained,
        "late_over_rate": MIB / fmean(_late(blocks)) / rate,
    }


def left_alone(probe: Probe, sizes: Sizes) -> Samples:
    """What is left to wait for of what was written, as a share of it, when as long has passed as
    all of it takes to the servers: nothing, if it goes there by itself."""
    blocks, drained = _write_and_drain(probe, [sizes.bulk])
    file, _ = probe.create(probe.new_path())
    probe.write_all(file, sizes.bulk)
    time.sleep(min(sum(blocks) + drained, LONGEST_PAUSE_S))
    left = timed(os.fsync, file)[1]
    forget(file)
    os.close(file)
    return {"left_alone": left / drained}


def room_of_two(probe: Probe, sizes: Sizes) -> Samples:
    """As much in two files at once: is there twice the room?"""
    blocks, drained = _write_and_drain(probe, [sizes.room // 2] * 2)
    return {"under_way_of_two": sizes.room / (sum(blocks) + drained) * drained}


def _write_and_drain(probe: Probe, each: list[int]) -> tuple[list[float], float]:
    """What each block took, s, files in turns, and what they took until all was on the servers."""
    files = [probe.create(probe.new_path())[0] for _ in each]
    blocks = [probe.write(file, MIB, offset) for offset in range(0, each[0], MIB) for file in files]
    drained = sum(timed(os.fsync, file)[1] for file in files)
    for file in files:
        forget(file)
        os.close(file)
    return blocks, drained


def _late(blocks: list[float]) -> list[float]:
    return blocks[-len(blocks) // 4 :]


def reading(probe: Probe, sizes: Sizes) -> Samples:
    """From the servers, again while the file is open, and again when it was closed."""
    path = probe.file_of(sizes.bulk)
    file = os.open(path, os.O_RDONLY)
    first = probe.read_all(file, sizes.bulk)
    again = probe.read_all(file, sizes.bulk)
    os.close(file)
    file = os.open(path, os.O_RDONLY)
    after = probe.read_all(file, sizes.bulk)
    os.close(file)
    return {
        "read_rate": sizes.bulk / first,
        "reread": again / first,
        "reread_after": after / first,
        "copy_out_rate": sizes.bulk / min(again, after),
    }


def small_reads(probe: Probe, sizes: Sizes) -> Samples:
    """A few bytes here and there, from the servers, again, and again when it was closed."""
    path = probe.file_of(sizes.bulk)
    step = max(sizes.bulk // SMALL_READS // SMALL * SMALL, SMALL)
    places = [(place * 7 % SMALL_READS) * step for place in range(SMALL_READS)]
    samples = {}
    for passes in (("read_call", "cached_read"), ("cached_read_after",)):
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        for name in passes:
            samples[name] = fmean([timed(os.pread, file, SMALL, place)[1] for place in places])
        os.close(file)
    return samples


def own_small_writes(probe: Probe, sizes: Sizes) -> Samples:
    """What was written in blocks of a page and a half, read by the same blocks while the file is
    open: every third page was filled by two writes, neither of which had all of it."""
    block = SMALL * 3 // 2
    file, _ = probe.create(probe.new_path())
    probe.write_all(file, SMALL_READS * block, block)
    os.fsync(file)
    taken = probe.read_all(file, SMALL_READS * block, block)
    os.close(file)
    return {"own_unfilled": taken / SMALL_READS}


ALL: tuple[Callable[[Probe, Sizes], Samples], ...] = (
    metadata,
    small_writes,
    scattered_writes,
    bulk_write,
    after_a_pause,
    *(partial(waiting.on_own_writes, name) for name in waiting.USUAL),
    waiting.on_a_small_write,
    writes_under_locks,
    reading,
    small_reads,
    own_small_writes,
    working,
)
# These take long where the way is slow: they fill the client's cache, or write many times.
LONG: tuple[Callable[[Probe, Sizes], Samples], ...] = (
    room,
    left_alone,
    room_of_two,
    *(partial(waiting.on_own_writes, name) for name in waiting.UNUSUAL),
    waiting.behind_writes,
    on_a_small_write_beside,
    on_small_writes_of_several,
    short_writes_of_several,
)
