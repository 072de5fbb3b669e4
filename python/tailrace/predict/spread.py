"""By how much one run differs from the next, where nothing was changed. All hold nine of ten."""

from __future__ import annotations

import math

NINE_OF_TEN = 1.645  # standard deviations
# The standard deviation between runs of one program: as a share of the run, for what waits for
# what else goes on; and of each part, of which one run shows no more than one draw.
RUN_NOISE = 0.02
PART_NOISE = 0.08
# By so much of the run where nothing is known of its file system; what it does beside its files
# makes no more.
RUN_TO_RUN = 0.05


def share(files: float, of_files: float | None) -> float:
    """Of a run that spends such a share of its time in files, which differ by `of_files`; None
    where that was not measured."""
    if of_files is None:
        return RUN_TO_RUN
    others = min(NINE_OF_TEN * PART_NOISE * (1 - files), RUN_TO_RUN)
    return math.hypot(of_files * files, others)
