"""Which combinations have to be measured.

In each place those have to be whose interval does not lie wholly beyond the best: any of them may
take the least time, and if one of them is not measured, that one may. Where only one is left,
nothing has to be. Of a claim, what it compares, unless the predictions decide it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.study.analysis.contenders import Race, choices, races
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.planning.claims import Claim
from tailrace.study.planning.prediction import Predicted

BEST = "may be the best"
CLAIM = "a claim compares it"


@dataclass(frozen=True)
class Cost:
    """Seconds of runs, of so many combinations; those without a prediction are only counted."""

    value: float
    low: float
    high: float
    combinations: int
    unknown: int


@dataclass(frozen=True)
class Selection:
    """`why`: by the number of each combination that has to be measured, the reasons."""

    predicted: Sequence[Predicted]
    races: Sequence[Race]
    claims: Sequence[Claim]
    why: Mapping[int, tuple[str, ...]]
    repetitions: int

    @property
    def whole(self) -> Cost:
        return self._cost(range(len(self.predicted)))

    @property
    def planned(self) -> Cost:
        return self._cost(self.why)

    @property
    def saving(self) -> float | None:
        """The share of the whole study's time; None where a prediction is missing."""
        if self.whole.unknown or not self.whole.value:
            return None
        return 1 - self.planned.value / self.whole.value

    def _cost(self, numbers: Any) -> Cost:
        some = [self.predicted[number] for number in numbers]
        known = [one.timed for one in some if one.known]

        def total(end: str) -> float:
            return self.repetitions * math.fsum(getattr(one, end) for one in known)

        ends = total("value"), total("low"), total("high")
        return Cost(*ends, len(some), len(some) - len(known))


def select(
    factors: Sequence[StudyFactor],
    predicted: Sequence[Predicted],
    claims: Sequence[Claim],
    repetitions: int,
) -> Selection:
    """`claims`: none where only the best choice is asked for."""
    found = races(factors, [one.timed for one in predicted]) if choices(factors) else []
    numbers = {id(one.timed): number for number, one in enumerate(predicted)}
    why: dict[int, list[str]] = {}
    for race in found:
        for runner in () if race.decided else race.contenders:
            why.setdefault(numbers[id(runner)], []).append(BEST)
    for claim in claims:
        for number in claim.needs:
            reasons = why.setdefault(number, [])
            if CLAIM not in reasons:
                reasons.append(CLAIM)
    ordered = {number: tuple(why[number]) for number in sorted(why)}
    return Selection(predicted, found, claims, ordered, repetitions)
