"""How much of what was written is still on its way when a write returns, and what of a write's time
is the way's: a client that keeps nothing back has no copying of its own that could be seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.calibration.probe import MIB, Samples
from tailrace.predict.model import Model

# Of what a write takes that waits for its arrival, the client's copying is at most so much.
MOST_COPYING = 0.5


def under_way(rounds: Sequence[Samples], write_rate: float) -> np.ndarray:
    """Bytes, of rounds that filled the client's cache. What `fsync` takes of a few bytes is its
    own: where it is slow, or nothing is kept back, that would look like bytes on their way."""
    return np.asarray(
        [
            max(0.0, samples["under_way"] - write_rate * samples["synchronize_dirty"])
            for samples in rounds
            if "under_way" in samples
        ]
    )


def written_per_s(model: Model) -> float:
    """Bytes a second of one client that goes on writing: what each write waits for is the time of
    all of it."""
    room, rates = model.cache.write_behind_bytes.value, model.bytes_per_s
    if room >= MIB:
        return rates.write.value
    waited_s = MIB / rates.copy_in.value + (MIB - room) / rates.write.value
    return MIB / max(waited_s, MIB / rates.write.value)


def rates_of_waiting_writes(
    blocks: np.ndarray, copy_out: np.ndarray, room: float
) -> tuple[np.ndarray, np.ndarray]:
    """Into the client's cache and from there to the servers, bytes a second, by round, where writes
    of 1 MiB wait until no more than `room` is on its way, and so many bytes a second are written.
    Copying in is taken to be as fast as copying out: then both together take what was measured."""
    block_s = MIB / blocks
    copying_s = np.minimum(MIB / copy_out, MOST_COPYING * block_s)
    sent_s = np.minimum(block_s, MIB * (block_s - copying_s) / (MIB - room))
    return MIB / copying_s, MIB / sent_s
