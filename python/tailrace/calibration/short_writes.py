"""What short writes of several processes take on their way that go to one file at once, beside each
other: a client may take calls one after another, whoever makes them, and a server each request,
however few bytes it has. At 4 KiB the bytes hide that where the way is slow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.calibration.probe import Probe, Samples, Sizes
from tailrace.calibration.processes import several, steps
from tailrace.calibration.quantities import ENDLESS, quantity
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
    return several() == 1 or any(f"{NAME}{MANY}" in samples for samples in rounds)


def shared_write(rounds: Sequence[Samples], room_bytes: float) -> Quantity:
    """What each of many takes. Where each takes longer the more are on their way, in any round, it may
    be as much as it would be if all of the client's room were full of them."""
    few, many = (
        np.asarray([samples[name] for samples in rounds if name in samples])
        for name in (f"{NAME}{FEW}", f"{NAME}{MANY}")
    )
    if not len(many):
        return NOTHING
    found = quantity(many)
    if not len(few) or room_bytes >= ENDLESS:
        return found
    growth = max(found.high - float(np.median(few)), 0.0) / (MANY - FEW)
    more = growth * max(room_bytes / (SHORT * several()) - MANY, 0.0)
    return found.model_copy(update={"high": found.high + more})
