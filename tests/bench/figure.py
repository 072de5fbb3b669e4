"""A measured figure beside its bound, and the comparisons that figures are made of."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str
    bound: float | None = None
    # the bound is the least value that is good enough; otherwise the largest
    at_least: bool = False
    remark: str = ""

    @property
    def reached(self) -> bool:
        return self.bound is None or (
            self.value >= self.bound if self.at_least else self.value <= self.bound
        )

    @property
    def of_bound(self) -> str:
        if self.bound is None:
            return ""
        sign = "≥" if self.at_least else "≤"
        return f"{self.value / self.bound:.3f} of {sign} {self.bound:g}"

    def line(self) -> str:
        mark = "" if self.reached else "  MISSED"
        remark = f"  ({self.remark})" if self.remark else ""
        return (
            f"{self.name:<58}{self.value:>12.4g} {self.unit:<14}{self.of_bound:<24}{mark}{remark}"
        )


@dataclass(frozen=True)
class Pairs:
    """Times of the same work without and with something, taken in turns so that both see the same
    machine."""

    without_s: list[float]
    with_s: list[float]

    @property
    def ratio_of_medians(self) -> float:
        return statistics.median(self.with_s) / statistics.median(self.without_s)

    @property
    def ratio_of_minima(self) -> float:
        return min(self.with_s) / min(self.without_s)

    @property
    def noise(self) -> float:
        """Half the distance of the quartiles of the runs without, as a share of their median."""
        quartiles = statistics.quantiles(self.without_s, n=4)
        return (quartiles[2] - quartiles[0]) / 2 / quartiles[1]


def interleaved(pairs: int, without: Callable[[], float], with_it: Callable[[], float]) -> Pairs:
    """Every second pair begins with the other, so that a drift favours neither."""
    times = Pairs([], [])
    for pair in range(pairs):
        order = [(without, times.without_s), (with_it, times.with_s)]
        for measure, into in order if pair % 2 == 0 else reversed(order):
            into.append(measure())
    return times
