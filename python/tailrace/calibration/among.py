"""What writes take to arrive while other processes of the machine wait for theirs: client and
servers take them up in turns, and share what processors are left."""

from __future__ import annotations

from tailrace.calibration.beside import cheapest_that_waits
from tailrace.calibration.probe import SMALL, Probe, Samples, Sizes
from tailrace.calibration.processes import several, steps
from tailrace.calibration.working import is_quiet

STEPS = 400
SUFFIX = "_after_small_among"


def on_small_writes_of_several(probe: Probe, sizes: Sizes) -> Samples:
    """As `on_a_small_write`, of as many processes as there are processors at once, each to a file
    of its own; nothing where others use these."""
    count = several()
    if count == 1 or not is_quiet():
        return {}
    name = cheapest_that_waits(probe)
    taken = steps(probe, count, STEPS, SMALL, name)
    return {} if taken is None else {f"{name}{SUFFIX}": taken.waited_s}
