"""What is measured, each experiment for a few parameters of the model. A round makes all of them
once, in an order drawn anew, so that a machine that becomes slower disturbs all alike.

What a program takes is a sum of calls, so of several calls it is their mean that counts. Every
experiment returns samples by name: seconds, bytes a second, bytes, or yes and no as 1 and 0.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from statistics import fmean

from tailrace.predict.calibration.probe import MIB, Probe, forget, lock, timed

Samples = dict[str, float]
KIB = 1 << 10
SMALL = 4 * KIB
SCATTERED = 32
# A call that drains takes at least so much of the time for which the bytes are on their way.
DRAINS = 0.5
# A reread that comes from memory takes at most so much of the time of a first one.
FROM_MEMORY = 0.5


class Sizes:
    """How much is written, so that the way to the servers takes a while and the disk has room."""

    def __init__(self, bulk: int, most: int) -> None:
        self.bulk, self.most = bulk, most


def metadata(probe: Probe, sizes: Sizes) -> Samples:
    """Calls that move nothing, on files that nobody else has open."""
    path, samples = probe.new_path(), {}
    file, samples["create"] = probe.create(path)
    samples["lock"] = timed(lock, file)[1]
    samples["truncate"] = timed(os.ftruncate, file, SMALL)[1]
    samples["synchronize_clean"] = timed(os.fsync, file)[1]
    samples["close"] = timed(os.close, file)[1]
    samples["look_up"] = timed(os.stat, path)[1]
    file, samples["open"] = timed(os.open, path, os.O_RDONLY)
    os.close(file)
    renamed = probe.new_path()
    samples["rename"] = timed(os.rename, path, renamed)[1]
    samples["remove"] = timed(os.unlink, renamed)[1]
    return samples


def small_writes(probe: Probe, sizes: Sizes) -> Samples:
    """So little that it stays in the client's cache; half of it not one behind the other."""
    file, _ = probe.create(probe.new_path())
    small = [probe.write(file, SMALL, place * SMALL) for place in range(SCATTERED)]
    scattered = [probe.write(file, SMALL, (200 + 3 * i) * SMALL) for i in range(SCATTERED)]
    os.close(file)
    call = fmean(small)
    return {"small_write": call, "scattered": max(fmean(scattered) - call, 0.0)}


def bulk_write(probe: Probe, sizes: Sizes) -> Samples:
    """Until all is on the servers, and how much of it was on its way when the last write ended."""
    file, _ = probe.create(probe.new_path())
    probe.write(file, SMALL, 0)
    os.fsync(file)
    blocks = probe.write_all(file, sizes.bulk)
    drained = timed(os.fsync, file)[1]
    forget(file)
    os.close(file)
    rate = sizes.bulk / (sum(blocks) + drained)
    early, late = fmean(blocks[: len(blocks) // 4]), fmean(blocks[-len(blocks) // 4 :])
    return {
        "write_rate": rate,
        "under_way": rate * drained,
        "copy_rate": MIB / early,
        "slower_late": late / early,
    }


def many_files(probe: Probe, sizes: Sizes) -> Samples:
    """As much as before in two files at once: is there twice the room?"""
    files = [probe.create(probe.new_path())[0] for _ in range(2)]
    returned = sum(
        probe.write(file, MIB, offset)
        for offset in range(0, sizes.bulk // 2, MIB)
        for file in files
    )
    drained = sum(timed(os.fsync, file)[1] for file in files)
    for file in files:
        forget(file)
        os.close(file)
    return {"under_way_of_two": sizes.bulk / (returned + drained) * drained}


def closing(probe: Probe, sizes: Sizes) -> Samples:
    """Whether close waits for what was written."""
    return {"close_dirty": _after_writing(probe, sizes, os.close)}


def looking_up(probe: Probe, sizes: Sizes) -> Samples:
    return {"look_up_dirty": _after_writing(probe, sizes, os.fstat)}


def end_of_file(probe: Probe, sizes: Sizes) -> Samples:
    """Whether a read at the end of a file waits for what was written."""
    size = sizes.bulk
    return {"end_dirty": _after_writing(probe, sizes, lambda file: os.pread(file, SMALL, size))}


def _after_writing(probe: Probe, sizes: Sizes, call: Callable[[int], object]) -> float:
    file, _ = probe.create(probe.new_path())
    probe.write_all(file, sizes.bulk)
    _, elapsed = timed(call, file)
    if call is not os.close:
        os.fsync(file)
        forget(file)
        os.close(file)
    return elapsed


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
    """A few bytes here and there, from the servers and again."""
    path = probe.file_of(sizes.bulk)
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    step = max(sizes.bulk // SCATTERED // SMALL * SMALL, SMALL)
    places = [(place * 7 % SCATTERED) * step for place in range(SCATTERED)]
    taken = [timed(os.pread, file, SMALL, place)[1] for place in places]
    again = [timed(os.pread, file, SMALL, place)[1] for place in places]
    os.close(file)
    return {"read_call": fmean(taken), "cached_read": fmean(again)}


ALL: tuple[Callable[[Probe, Sizes], Samples], ...] = (
    metadata,
    small_writes,
    bulk_write,
    many_files,
    closing,
    looking_up,
    end_of_file,
    reading,
    small_reads,
)
