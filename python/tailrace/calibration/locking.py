"""What writes under locks take, and what of that the rest of a model does not say.

A library that locks what it writes (ROMIO on most file systems that nodes share) waits in its locks
for the client's own work on each write, as nothing is gathered any more. So it is measured as such
libraries do it: lock, write, unlock, by one process alone, and by as many as there are processors:
in step, as collective output is made, where a client in user space finds no processor that stands
idle, since who is done keeps its own while it waits; and each as fast as it can, as independent
output is. Where somebody else uses the processors, the steps of several tell nothing: they wait for
each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace import engine
from tailrace.calibration.probe import SMALL, Probe, Samples, Sizes
from tailrace.calibration.processes import several, steps
from tailrace.calibration.quantities import quantity
from tailrace.predict.model import NOTHING, Model, Quantity
from tailrace.units import to_seconds

STEPS = 32
IN_STEP, UNWAITED = "locked_by_", "locked_unwaited_by_"


def writes_under_locks(probe: Probe, sizes: Sizes) -> Samples:
    """What a step takes, s, by one process, and by several if they have the processors."""
    found = {}
    most = several()
    for name, count in dict.fromkeys([(IN_STEP, 1), (IN_STEP, most), (UNWAITED, most)]):
        taken = steps(probe, count, STEPS, SMALL, "lock", waits=name == IN_STEP)
        if taken is not None and (taken.is_quiet or count == 1):
            found[f"{name}{count}"] = taken.time_s / STEPS
    return found


def are_told(rounds: Sequence[Samples]) -> bool:
    """Whether several had the processors in any round: in step, and each as fast as it can."""
    names = (f"{prefix}{several()}" for prefix in (IN_STEP, UNWAITED))
    return all(any(name in samples for samples in rounds) for name in names)


def lock_after_write(rounds: Sequence[Samples], model: Model, prefix: str = IN_STEP) -> Quantity:
    """What a lock takes more that follows a write: what a step takes beyond what the model says of
    its calls. At least what it is by one process, at most by several, and as much is expected: who
    writes alone seldom locks."""
    by_count: dict[int, list[float]] = {}
    for samples in rounds:
        for name, step_s in samples.items():
            # one process waits for nobody
            if name.startswith(prefix) or name == f"{IN_STEP}1":
                by_count.setdefault(int(name.rpartition("_")[2]), []).append(step_s)
    found = [
        quantity(np.clip(np.asarray(taken) - _predicted_step_s(model, count), 0, None))
        for count, taken in sorted(by_count.items())
    ]
    if not found:
        return NOTHING
    value = found[-1].value
    low, high = min(each.low for each in found), max(each.high for each in found)
    return Quantity(value=value, low=low, high=high)


def _predicted_step_s(model: Model, count: int) -> float:
    """By the model without that: all write at once, as they do in step."""

    def calls(rank: int) -> list[tuple[str, int, int, int]]:
        places = [(step * count + rank) * SMALL for step in range(STEPS)]
        return [
            call
            for place in places
            for call in (("lock", 0, 0, 0), ("write", 0, place, SMALL), ("lock", 0, 0, 0))
        ]

    # several have as many processors
    parameters = model.parameters() | {"cores": count if count > 1 else None}
    ends = engine.model_ends(parameters, [0] * count, [*map(calls, range(count))])
    return to_seconds(max(ends)) / STEPS
