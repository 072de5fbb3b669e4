"""What short writes of several processes take on their way that go to one file at once, beside each
other: a client may take calls one after another, whoever makes them, and a server each request,
however few bytes it has. At 4 KiB the bytes hide that where the way is slow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.calibration.probe import Probe, Samples, Sizes
from tailrace.calibration.processes import several, steps
from tailrace.calibration.quantities import quantity
from tailrace.calibration.working import is_quiet
from tailrace.predict.model import NOTHING, Quantity

SHORT = 256
FEW, MANY = 64, 1024
NAME = "shared_write_of_"


def short_writes_of_several(probe: Probe, sizes: Sizes) -> Samples:
    """What each takes, s, of few and of many; nothing where others use the processors."""
    count, found = several(), {}
    for number in (FEW, MANY) if count > 1 and is_quiet() else ():
        taken = steps(probe, count, number, SHORT, "write")
        if taken is not None:
            found[f"{NAME}{number}"] = taken.arrived_s / (number * count)
    return found


def are_told(rounds: Sequence[Samples]) -> bool:
    """Whether several had the processors in any round; one has nothing to tell."""
    return several() == 1 or bool(_few_and_many(rounds))


def shared_write(rounds: Sequence[Samples], room_bytes: float) -> tuple[Quantity, Quantity]:
    """What each takes that finds none on its way, and what it takes more for each that it finds: as
    long as the client has room all are on their way at once, since its processes only copy. A round
    in which many take less each than few has no more for those."""
    pairs = _few_and_many(rounds)
    if not pairs:
        return NOTHING, NOTHING
    few, many = np.asarray(pairs).T
    before_few, before_many = (_on_their_way(n * several(), room_bytes) for n in (FEW, MANY))
    queued = np.maximum(many - few, 0.0) / max(before_many - before_few, 1.0)
    return quantity(np.maximum(many - queued * before_many, 0.0)), quantity(queued)


def _few_and_many(rounds: Sequence[Samples]) -> list[list[float]]:
    """What each takes, of few and of many, in each round that has both."""
    names = [f"{NAME}{number}" for number in (FEW, MANY)]
    return [
        [samples[name] for name in names]
        for samples in rounds
        if all(name in samples for name in names)
    ]


def _on_their_way(number: int, room_bytes: float) -> float:
    """How many of so many are so when one of them begins, in the mean."""
    at_once = min(float(number), max(room_bytes / SHORT, 1.0))
    return at_once - at_once**2 / (2 * number)
