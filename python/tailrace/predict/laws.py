"""How a time grows or falls with the number of ranks: one law of a family, and those that the
measurements leave open.

Each law is c + a f(n), or the larger of the two, with a, c ≥ 0: no time is negative. The forms
f are few, each with a meaning; terms that grow faster than the ranks (of the performance model
normal form of Calotoiu, Hoefler, Poke, Wolf: "Using automated performance modeling to find
scalability bugs in complex codes", SC 2013) are only taken where none of the few will do: through
three points that differ by chance there is always a steep one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tailrace.predict.spread import NINE_OF_TEN
from tailrace.units import seconds

LEAST_COUNTS = 3
# So many squares of noise more than the best, and a law is still within 90 % (χ², one degree).
OPEN = 2.71
# Less than that tells nothing, and is what rounding leaves where noise is next to none.
EQUAL = 0.01
# Less than this share of the largest time is what rounding left.
ROUNDING = 1e-9
LEAST_NOISE_S = 1e-9
SUPERSCRIPTS = str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹")


def _level(ranks: np.ndarray) -> np.ndarray:
    return np.ones_like(ranks)


class Form(NamedTuple):
    """What a time is made of beside its constant; `words` follow the factor. `base`: what the
    constant is multiplied by, and `described` puts both into words, where neither is a power of the
    number of ranks."""

    words: str
    term: Callable[[np.ndarray], np.ndarray]
    larger: bool = False
    base: Callable[[np.ndarray], np.ndarray] = _level
    described: Callable[[float, float], str] | None = None


def _power(exponent: float, logarithm: int = 0) -> Form:
    shown: dict[float, str] = {0: "", -1: " / n", 1: " n"}
    words = shown.get(exponent) or (
        f" n{f'{exponent:.2g}'.translate(SUPERSCRIPTS)}" if exponent else ""
    )
    return Form(
        words + " log₂ n" * logarithm,
        lambda ranks: np.asarray(ranks**exponent * np.log2(ranks) ** logarithm),
    )


CONSTANT = _power(0.0)
# The simplest first.
FORMS = (
    CONSTANT,
    # what is shared out; what lies on the faces of parts in three and in two dimensions
    _power(-1.0),
    _power(-2 / 3),
    _power(-0.5),
    # a tree of messages; what is asked of one rank or server by each; between the two
    _power(0.0, 1),
    _power(1.0),
    _power(0.5),
    # what goes to the others, of which there are none on one rank
    Form(" (1 - 1 / n)", lambda ranks: np.asarray(1 - 1 / ranks)),
    _power(-1.0, 1),
)
# One server, which is the limit once there are ranks enough to keep it busy.
LIMITS = (Form(" n", lambda ranks: np.asarray(ranks, float), larger=True),)
# What each further rank adds, and the first does not.
FURTHER = (Form(" (n - 1)", lambda ranks: np.asarray(ranks - 1.0)),)


def _beyond(number: float) -> Form:
    return Form(f" n if n > {number:g}", lambda ranks: np.where(ranks > number, ranks, 0.0))


# What each does where others share its files: it locks them, and reads what lies between its data.
SHARED = (_beyond(1),)
STEEP = (*(_power(exponent, 1) for exponent in (0.5, 1.0)), _power(1.5), _power(2.0))


def from_some_on(ranks: np.ndarray) -> tuple[Form, ...]:
    """What each does beyond so many ranks as some run had, and up to them all do together: a grid
    comes to be cut in two directions, and what lies between its data is read. Two runs at least are
    beyond, since one fits whatever it counts."""
    return tuple(_only_beyond(float(number)) for number in ranks[:-2])


def _only_beyond(number: float) -> Form:
    return _beyond(number)._replace(base=lambda ranks: np.where(ranks > number, 0.0, 1.0))


class Law(NamedTuple):
    """`constant` times the form's base + `factor` times its term, s; or the larger of the two."""

    constant: float
    factor: float
    form: Form

    def at(self, ranks: np.ndarray | float) -> np.ndarray:
        ranks = np.asarray(ranks, float)
        least, grown = self.constant * self.form.base(ranks), self.factor * self.form.term(ranks)
        return np.asarray(np.maximum(least, grown) if self.form.larger else least + grown)

    @property
    def words(self) -> str:
        if self.form.described:
            return self.form.described(self.constant, self.factor)
        parts = [seconds(self.constant)] if self.constant else []
        if self.factor:
            parts.append(seconds(self.factor) + self.form.words)
        if self.form.larger and len(parts) == 2:
            return "the larger of " + " and ".join(parts)
        return " + ".join(parts) or "nothing"


class Fitted(NamedTuple):
    """The law that fits best, and the least and the most that those say which do nearly as well,
    each with what noise in the measurements makes of it."""

    best: Law
    open: tuple[Law, ...]
    ranks: np.ndarray
    times_s: np.ndarray
    noise_s: np.ndarray

    @property
    def matters(self) -> bool:
        """Whether there is any time."""
        return bool(self.best.constant or self.best.factor)

    @property
    def beyond_law(self) -> float:
        """What is measured on the most ranks beyond what the law says of them."""
        return float(self.times_s[-1] - self.best.at(self.ranks[-1]))

    def between(self, ranks: int) -> tuple[float, float]:
        """What the laws that are left open say at so many ranks."""
        found = [self._between(law, ranks) for law in self.open]
        return min(low for low, _ in found), max(high for _, high in found)

    def _between(self, law: Law, ranks: int) -> tuple[float, float]:
        """What it says of points that are moved by their noise in the direction that matters."""
        told = float(law.at(ranks))
        moved = [
            [self._refitted(law.form, ranks, sign * alone) - told for sign in (-1, 1)]
            for alone in np.diag(self.noise_s)
        ]
        found = [told]
        for side in (-1, 1):
            gains = np.maximum(side * np.asarray(moved), 0)
            direction = gains[:, 1] - gains[:, 0]
            length = float(np.linalg.norm(direction))
            if length:
                step = NINE_OF_TEN * self.noise_s * direction / length
                found.append(self._refitted(law.form, ranks, step))
        return min(found), max(found)

    def _refitted(self, form: Form, ranks: int, step_s: np.ndarray) -> float:
        times_s = np.maximum(self.times_s + step_s, 0)
        return float(_fit(form, self.ranks, times_s, self.noise_s).at(ranks))


def fitted(
    ranks: np.ndarray,
    times_s: np.ndarray,
    each_noise_s: np.ndarray | float,
    counted: Sequence[Form] = (),
    forms: Sequence[Form] = FORMS,
) -> Fitted:
    """The law of times on so many ranks, of which there are three numbers at least, each measured
    with a standard deviation of `each_noise_s`. `counted`: forms by what is known to be done, which
    are taken before all others that come as near, unless the times are level."""
    noise_s = np.maximum(np.full(ranks.shape, each_noise_s), LEAST_NOISE_S)
    laws = _judged((*forms, *counted), ranks, times_s, noise_s)
    spare = len(ranks) - 2
    if laws[0][0] > OPEN * (spare + 1):
        # a limit is only supposed where the points show one: they are not level
        laws += _judged(LIMITS, ranks, times_s, noise_s)
    # three points are too few to tell these from chance
    if spare > 1:
        laws += _judged(FURTHER, ranks, times_s, noise_s)
        if min(off for off, _ in laws) > OPEN * spare:
            laws += _judged(STEEP, ranks, times_s, noise_s)
    least = min(off for off, _ in laws)
    # of laws that fit equally well the simplest: the forms are in that order
    best = next(law for off, law in laws if off <= least + EQUAL)
    # where no law comes near, the measurements differ by more than was supposed
    noisier = max(1.0, least / spare)
    open_laws = [law for off, law in laws if off - least <= OPEN * noisier]
    if open_laws[0].form is CONSTANT:
        best = open_laws[0]
    elif by_counts := [each for each in laws if each[1].form in counted and each[1] in open_laws]:
        best = min(by_counts, key=lambda each: each[0])[1]
    return Fitted(best, tuple(open_laws), ranks, times_s, noise_s * math.sqrt(noisier))


def _judged(
    forms: tuple[Form, ...], ranks: np.ndarray, times_s: np.ndarray, noise_s: np.ndarray
) -> list[tuple[float, Law]]:
    """Each form's law, behind the squares by which it is off, in units of the noise."""
    laws = [_fit(form, ranks, times_s, noise_s) for form in forms]
    return [(_off(law, ranks, times_s, noise_s), law) for law in laws]


def _off(law: Law, ranks: np.ndarray, times_s: np.ndarray, noise_s: np.ndarray) -> float:
    return float(np.sum(np.square((law.at(ranks) - times_s) / noise_s)))


def _fit(form: Form, ranks: np.ndarray, times_s: np.ndarray, noise_s: np.ndarray) -> Law:
    """Least squares, with no coefficient below zero."""
    weights = 1 / noise_s
    base, term = form.base(ranks), form.term(ranks)
    if form.larger:
        return _fit_larger(form, ranks, times_s, noise_s)
    if np.ptp(term) > 0:
        columns = np.column_stack([base, term])
        found = np.linalg.lstsq(columns * weights[:, None], times_s * weights, rcond=None)[0]
        constant, factor = np.where(abs(found) < ROUNDING * times_s.max(), 0, found)
        if constant >= 0 and factor >= 0:
            return Law(float(constant), float(factor), form)
        if constant < 0:
            return Law(0.0, _through_zero(term, times_s, weights), form)
    return Law(_through_zero(base, times_s, weights), 0.0, form)


def _fit_larger(form: Form, ranks: np.ndarray, times_s: np.ndarray, noise_s: np.ndarray) -> Law:
    """Of all numbers of points before which it is level, that which fits best."""
    weights, term = 1 / noise_s, form.term(ranks)
    laws = []
    for level in range(1, len(ranks)):
        constant = float(np.average(times_s[:level], weights=weights[:level] ** 2))
        factor = _through_zero(term[level:], times_s[level:], weights[level:])
        laws.append(Law(constant, factor, form))
    return min(laws, key=lambda law: _off(law, ranks, times_s, noise_s))


def _through_zero(term: np.ndarray, times_s: np.ndarray, weights: np.ndarray) -> float:
    weighted = term * weights
    square = float(weighted @ weighted)
    return max(float(weighted @ (times_s * weights)) / square, 0.0) if square else 0.0
