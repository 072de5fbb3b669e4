"""Which of several choices may take the least time, as far as intervals tell: those whose interval
does not lie wholly beyond the best one's.

A *choice* is one level of every factor that says how output is written (method, format, pair, hint,
setting); a *place* is one level of every other factor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.study.analysis.factors import StudyFactor

CHOICES = ("method", "format", "pair", "hint", "setting")


@dataclass(frozen=True)
class Timed:
    """A combination and the interval in which its time lies."""

    levels: Mapping[str, Any]
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Race:
    """The choices in one place, that of the least time first."""

    where: Mapping[str, Any]
    runners: tuple[Timed, ...]

    @property
    def contenders(self) -> tuple[Timed, ...]:
        """Those that may be the best: at their least they take no longer than some other at its
        most, whichever that is."""
        bar = min(runner.high for runner in self.runners)
        return tuple(runner for runner in self.runners if runner.low <= bar)

    @property
    def decided(self) -> bool:
        return len(self.contenders) == 1


def choices(factors: Sequence[StudyFactor]) -> list[StudyFactor]:
    """The factors among whose levels one is chosen."""
    return [factor for factor in factors if factor.kind in CHOICES and len(factor.levels) > 1]


def races(factors: Sequence[StudyFactor], timed: Sequence[Timed]) -> list[Race]:
    """One for each place, in the order in which they come."""
    chosen = {factor.name for factor in choices(factors)}
    places: dict[tuple[Any, ...], list[Timed]] = {}
    for one in timed:
        place = tuple(level for name, level in one.levels.items() if name not in chosen)
        places.setdefault(place, []).append(one)
    return [
        Race(
            {name: level for name, level in some[0].levels.items() if name not in chosen},
            tuple(sorted(some, key=lambda runner: runner.value)),
        )
        for some in places.values()
    ]
