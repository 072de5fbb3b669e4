"""How a time grows or falls with the number of ranks: one law of a family, and those that the
measurements leave open.

The family is the performance model normal form with one term, c + a n^i log2(n)^j (Calotoiu,
Hoefler, Poke, Wolf: "Using automated performance modeling to find scalability bugs in complex
codes", SC 2013), with negative exponents for what is shared out, and a, c ≥ 0: no time is negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailrace.units import seconds

EXPONENTS = (0.0, -1.0, 1.0, -0.5, 0.5, -1 / 3, 1 / 3, -2 / 3, 2 / 3, -2.0, 2.0, 1.5)
LOGARITHMS = (0, 1)
LEAST_COUNTS = 3
# A law that is off by so many times as much as the best may be right, too.
OPEN = 3.0
# Less than this share of the largest time is what rounding left.
ROUNDING = 1e-9
SUPERSCRIPTS = str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹")


class Law(NamedTuple):
    """c + a n^exponent log2(n)^logarithm, s."""

    constant: float
    factor: float
    exponent: float
    logarithm: int

    def at(self, ranks: np.ndarray | float) -> np.ndarray:
        return np.asarray(self.constant + self.factor * _term(self, np.asarray(ranks, float)))

    @property
    def words(self) -> str:
        parts = [seconds(self.constant)] if self.constant else []
        if self.factor:
            parts.append(seconds(self.factor) + _power(self.exponent) + " log₂ n" * self.logarithm)
        return " + ".join(parts) or "nothing"


class Fitted(NamedTuple):
    """The law that predicts best what it has not seen, and all that do nearly as well."""

    best: Law
    open: tuple[Law, ...]

    @property
    def matters(self) -> bool:
        """Whether there is any time."""
        return bool(self.best.constant or self.best.factor)

    def between(self, ranks: int) -> tuple[float, float]:
        """What the laws that are left open say at so many ranks."""
        found = [float(law.at(ranks)) for law in self.open]
        return min(found), max(found)


def fitted(ranks: np.ndarray, times_s: np.ndarray, noise_s: float) -> Fitted:
    """The law of times on so many ranks, of which there are three numbers at least; what differs by
    `noise_s` is the same. Each law is judged by what it says of each point without that point."""
    laws = []
    for exponent in EXPONENTS:
        for logarithm in LOGARITHMS:
            form = Law(0.0, 0.0, exponent, logarithm)
            off = [_missed(form, ranks, times_s, number) for number in range(len(ranks))]
            error = float(np.sqrt(np.mean(np.square(off))))
            laws.append((error, _fit(form, ranks, times_s)))
    best_error, best = min(laws, key=lambda found: found[0])
    bound = max(OPEN * best_error, noise_s)
    # of laws that cannot be told apart the simplest: the family is in that order
    best = next((law for error, law in laws if error <= noise_s), best)
    return Fitted(best, tuple(law for error, law in laws if error <= bound) or (best,))


def _missed(form: Law, ranks: np.ndarray, times_s: np.ndarray, number: int) -> float:
    others = np.arange(len(ranks)) != number
    law = _fit(form, ranks[others], times_s[others])
    return float(law.at(ranks[number]) - times_s[number])


def _fit(form: Law, ranks: np.ndarray, times_s: np.ndarray) -> Law:
    """Least squares, with no coefficient below zero."""
    term = _term(form, ranks)
    if np.ptp(term) > 0:
        columns = np.column_stack([np.ones_like(term), term])
        found = np.linalg.lstsq(columns, times_s, rcond=None)[0]
        constant, factor = np.where(abs(found) < ROUNDING * times_s.max(), 0, found)
        if constant >= 0 and factor >= 0:
            return form._replace(constant=float(constant), factor=float(factor))
        if constant < 0:
            alone = float(term @ times_s / (term @ term))
            return form._replace(factor=max(alone, 0.0))
    return form._replace(constant=float(np.mean(times_s)))


def _term(law: Law, ranks: np.ndarray) -> np.ndarray:
    return np.asarray(ranks**law.exponent * np.log2(ranks) ** law.logarithm)


def _power(exponent: float) -> str:
    if exponent == 0:
        return ""
    if exponent == -1:
        return " / n"
    return " n" if exponent == 1 else f" n{f'{exponent:.2g}'.translate(SUPERSCRIPTS)}"
