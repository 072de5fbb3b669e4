"""When it has been measured often enough.

Times are compared by their ratios and scatter upwards, so that the interval of a combination's
median is taken on the logarithms: mean ± t·s/√n of them, with Student's t of n − 1 degrees of
freedom. Of a log-normal spread that mean is the logarithm of the median; three runs are then enough
for an interval, where one from order statistics needs six for 95 %.
"""

import math
from collections.abc import Sequence
from statistics import stdev

from tailrace.study.definition.model import StudyDefinition

LEVEL = 0.95


def half_width(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the median, relative to it; infinite where nothing can
    be said.

    `values` are times or anything else positive.
    """
    from scipy.stats import t

    if len(values) < 2 or min(values) <= 0:
        return math.inf
    logarithms = [math.log(value) for value in values]
    reach = t.ppf((1 + LEVEL) / 2, len(values) - 1) * stdev(logarithms) / math.sqrt(len(values))
    return math.sinh(reach)  # half of e^(m + r) − e^(m − r), over e^m


def another_block(
    study: StudyDefinition, blocks_done: int, by_combination: Sequence[Sequence[float]]
) -> bool:
    """Whether one more block is to be run. `by_combination`: the response of every combination's
    successful runs so far.

    A further block is a complete one as well, so that combinations stay comparable within blocks. A
    combination that never succeeded is not waited for.
    """
    if blocks_done < study.repetitions:
        return True
    if study.adaptive is None or blocks_done >= study.adaptive.at_most:
        return False
    return any(half_width(values) > study.adaptive.interval for values in by_combination if values)
