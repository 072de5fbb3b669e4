"""The comparisons of [[expect]], each in one place."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tailrace.study.analysis import contrasts, words
from tailrace.study.analysis.contrasts import Family
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.first_runs import Firsts
from tailrace.study.analysis.intervals import LEVEL, UNBOUNDED, Estimate, exact, of_blocks
from tailrace.study.analysis.layout import Curve, Layout
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.responses import Response
from tailrace.study.definition.model import (
    Expect,
    Faster,
    Matters,
    MattersMore,
    Scales,
    ShareOf,
    Turn,
)

# A step that is surely less than this is neither a rise nor a fall.
STEADY = 0.05

# The logarithm of what a reader would see of it.
SHIFTED = 0.01
# A level and what it is compared with.
Pair = tuple[Any, Any]


class Judgement(StrEnum):
    HELD = "held"
    NOT_HELD = "not held"
    UNDECIDED = "undecided"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Assessment:
    """What the runs say of a statement: the answer, the evidence in words, and what was
    compared."""

    answer: Judgement
    evidence: str
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Compared:
    """A statement about one curve. `level`: of the intervals; `unknown`: the levels that were to be
    run there and have no result."""

    study: Measured
    response: Response
    expect: Expect
    family: Family
    curve: Curve
    level: float = LEVEL
    unknown: tuple[Any, ...] = ()

    def ratio(self, of: Any, to: Any, level: float | None = None) -> Estimate:
        return self.family.compare(self.curve, contrasts.ratio(of, to), level or self.level)

    def exponent(self, levels: Sequence[Any], level: float | None = None) -> Estimate:
        return self.family.compare(self.curve, contrasts.slope(levels), level or self.level)


def assess(compared: Compared) -> Assessment:
    match compared.expect:
        case Expect(rises_beyond=Turn() as turn):
            return _goes(compared, turn, beyond=True)
        case Expect(falls_until=Turn() as turn):
            return _goes(compared, turn, beyond=False)
        case Expect(flat_beyond=Turn() as turn):
            return _flat_beyond(compared, turn)
        case Expect(faster=Faster() as faster):
            return _faster(compared, faster)
        case Expect(matters=Matters() as matters):
            return _opposite(_does_not_matter(compared, matters))
        case Expect(does_not_matter=Matters() as matters):
            return _does_not_matter(compared, matters)
        case Expect(scales=Scales() as scales):
            return _scales(compared, scales)
    raise AssertionError(f"{compared.expect.claim}: an [[expect]] without a comparison")


# --- along a factor


def _goes(compared: Compared, turn: Turn, beyond: bool) -> Assessment:
    """A rise beyond the named level, or a fall until there: each step must surely be one. It does
    not hold where a step surely is none, all steps being looked at."""
    factor, curve = compared.study.factor(turn.factor), compared.curve
    side = _side(curve.levels, turn.level, beyond)
    if len(side) < 2:
        nothing = f"on that side of {words.named(factor, turn.level)} there is nothing to compare"
        return Assessment(Judgement.UNDECIDED, nothing)
    steps = list(pairwise(side))
    careful = 1 - (1 - compared.level) / len(steps)
    plain = [_onwards(compared.ratio(b, a), beyond) for a, b in steps]
    against = [_onwards(compared.ratio(b, a, careful), beyond) for a, b in steps]
    whole = compared.ratio(side[-1], side[0])
    wrong = [at for at, step in enumerate(against) if _is_no_rise(step)]
    open_ = [at for at, step in enumerate(plain) if not step.beyond(1)]
    unknown = _side(compared.unknown, turn.level, beyond)
    answer = _judged(not open_ and not unknown, bool(wrong))
    span = words.span(factor, side[0], side[-1])
    text = f"{span}, {compared.response.words} {words.becomes(whole, compared.response)}{_p(whole)}"
    if len(steps) > 1 and (chosen := wrong or open_):
        a, b = steps[chosen[0]]
        step = words.becomes(compared.ratio(b, a), compared.response)
        they = compared.response.pronoun
        text += f"; from {words.plain(factor, a)} to {words.plain(factor, b)} {they} {step}"
    text += f"; {_least(compared, factor)}{_nothing_known(factor, unknown)}"
    return Assessment(answer, text, whole)


def _onwards(change: Estimate, rise: bool) -> Estimate:
    """As a ratio that should be above 1."""
    return change if rise else change.inverted()


def _is_no_rise(step: Estimate) -> bool:
    if not step.known or step.beyond(1):
        return False
    return step.below(1) or step.within(STEADY)


def _least(compared: Compared, factor: StudyFactor) -> str:
    means = compared.curve.means()
    if not np.isfinite(means).any():
        return "no block is whole"
    best = compared.curve.levels[int(np.nanargmin(means))]
    value = compared.response.text(math.exp(float(np.nanmin(means))))
    return f"the lowest, {value}, is at {words.named(factor, best)}"


def _flat_beyond(compared: Compared, turn: Turn) -> Assessment:
    curve = compared.curve
    found = _pairs(compared, _side(curve.levels, turn.level, beyond=True))
    if turn.level not in curve.levels or not found:
        nothing = "there are no runs to compare with beyond that level"
        return Assessment(Judgement.UNDECIDED, nothing)
    unknown = _side(compared.unknown, turn.level, beyond=True)
    return _all_within(
        replace(compared, unknown=tuple(unknown)),
        compared.study.factor(turn.factor),
        found,
        turn.within,
    )


def _all_within(
    compared: Compared, factor: StudyFactor, found: Mapping[Pair, Estimate], within: float
) -> Assessment:
    """Each pair of levels by its own interval: all must be within. One is surely beyond by an
    interval that allows for all of them."""
    careful = 1 - (1 - compared.level) / len(found)
    surely = [pair for pair in found if compared.ratio(*pair, careful).outside(within)]
    held = all(change.within(within) for change in found.values())
    farthest = max(surely or found, key=lambda pair: _reach(found[pair], surely=bool(surely)))
    level, base = farthest
    against = f"{words.named(factor, level)} against {words.plain(factor, base)}"
    text = (
        f"{compared.response.words}, {against}: {words.compared(found[farthest])};"
        f" expected within {within * 100:g} %{_nothing_known(factor, compared.unknown)}"
    )
    if not surely and found[farthest].outside(within):
        # else it would seem to be decided
        text += f"; as the farthest of {len(found)} pairs, "
        text += words.compared(compared.ratio(*farthest, careful))
    held = held and not compared.unknown
    return Assessment(_judged(held, bool(surely)), text, found[farthest])


# --- between levels


def _faster(compared: Compared, faster: Faster) -> Assessment:
    response, curve = compared.response, compared.curve
    factor, more = compared.study.factor(faster.factor), response.more_is_better
    first, second = faster.level, faster.than
    gain = compared.ratio(first, second) if more else compared.ratio(second, first)
    if not gain.blocks:
        nothing = "one of the two has no finished runs in a block with the other"
        return Assessment(Judgement.UNDECIDED, nothing)
    means = dict(zip(curve.levels, curve.means(), strict=True))
    values = [
        f"{words.named(factor, level)} {response.text(math.exp(float(means[level])))}"
        for level in (first, second)
    ]
    which = "first" if more or response.is_time else "second"
    how = "as fast" if response.is_time else "as high"
    gained = f"the {which} is {words.times(gain)} {how}{_p(gain)}"
    weights = contrasts.ratio(*((first, second) if more else (second, first)))
    plain = float(np.mean(contrasts.by_block(curve, weights)))
    # the values beside it have their first runs
    if abs(math.log(gain.value) - plain) > SHIFTED:
        gained += ", without what first runs take longer"
    asked = f"; expected at least {faster.by:g} times" if faster.by != 1 else ""
    even = gain.low == gain.high == faster.by == 1
    return Assessment(
        # as fast is not faster
        _judged(gain.low >= faster.by and not even, gain.high < faster.by or even),
        f"{response.words}: {', '.join(values)}; {gained}{asked}",
        gain,
    )


def _does_not_matter(compared: Compared, matters: Matters) -> Assessment:
    """Every level against every other: all within the named share, or one surely beyond it."""
    curve, factor = compared.curve, compared.study.factor(matters.factor)
    found = _pairs(compared, curve.levels)
    if not found:
        nothing = f"there are runs at one level of {words.spaced(factor.name)} only"
        return Assessment(Judgement.UNDECIDED, nothing)
    return _all_within(compared, factor, found, matters.within)


def matters_more(
    study: Measured,
    response: Response,
    more: MattersMore,
    curves: tuple[Curve, Curve],
    level: float,
) -> Assessment:
    """Of the logarithms a and b of what the factor does in the one place and in the other: |a| is
    larger than |b| where a − b and a + b have the same sign. Runs that were ended decide nothing.
    """
    factor = study.factor(more.factor)
    high = factor.levels[-1] if more.level is None else more.level
    low = factor.levels[0] if more.to is None else more.to
    weights = contrasts.ratio(high, low)
    sides = [_by_number(curve, curve.logs, weights) for curve in curves]
    whole = np.isfinite(sides[0]) & np.isfinite(sides[1]) if all(map(len, sides)) else np.zeros(0)
    runs = (
        any(contrasts.expected(curve, weights).relative[0] for curve in curves)
        if len(whole)
        else True
    )
    if int(whole.sum()) < (2 if runs else 1):
        return Assessment(Judgement.UNDECIDED, "fewer than two blocks have both")
    both = np.array(sides)[:, whole.astype(bool)]
    firsts = _first_runs(curves, weights, whole.astype(bool))

    def estimate(signs: tuple[int, int], *margins: tuple[float, float]) -> Estimate:
        values = np.array(signs) @ both
        found = of_blocks(values, level=level) if runs else exact(values)
        for first, known in zip(firsts, curves[0].first_runs, strict=True):
            found = contrasts.less_first_runs(found, np.array(signs) @ first, known)
        return found.widened(*map(sum, zip(*margins, strict=True)))

    of_a, of_b = (contrasts.margin(curve, weights) for curve in curves)
    first, second = estimate((1, 0), of_a), estimate((0, 1), of_b)
    difference = estimate((1, -1), of_a, (-of_b[1], -of_b[0]))
    total = estimate((1, 1), of_a, of_b)
    ended = [curve for curve in curves if any(map(curve.is_bound, weights))]
    sign = 0 if ended else _sign(difference) * _sign(total)
    names = [words.when(study.factors, condition) for condition in (more.with_, more.than)]
    ratio = f"{words.plain(factor, high)} over {words.plain(factor, low)}"
    text = (
        f"{response.words}, {ratio}: {words.times(first)} {names[0]},"
        f" {words.times(second)} {names[1]}; the first is {words.times(difference)} as large"
    )
    return Assessment(_judged(sign > 0, sign < 0), text, difference)


def _by_number(curve: Curve, values: np.ndarray, weights: contrasts.Weights) -> np.ndarray:
    """The weighted sum in each block, NaN where a level is missing. `values`: levels × blocks."""
    if any(level not in curve.levels for level in weights):
        return np.empty(0)
    rows = [weight * values[curve.levels.index(level)] for level, weight in weights.items()]
    return np.sum(rows, axis=0)


def _first_runs(
    curves: tuple[Curve, Curve], weights: contrasts.Weights, whole: np.ndarray
) -> Firsts:
    """Of both, how many more first runs the one side of the ratio has in each whole block."""
    pairs = zip(*(curve.firsts for curve in curves), strict=True)
    return tuple(
        np.array(
            [_by_number(curve, first, weights) for curve, first in zip(curves, pair, strict=True)]
        )[:, whole]
        for pair in pairs
    )


def _sign(change: Estimate) -> int:
    return 0 if not change.known else 1 if change.beyond(1) else -1 if change.below(1) else 0


# --- of all runs


def share(
    part: Layout, asked: ShareOf, response: Response, whole: Response, level: float = LEVEL
) -> Assessment:
    """Of combinations × blocks: the mean over combinations in each block that has all of them, then
    over blocks."""
    rows = part.logs[:, np.isfinite(part.logs).all(axis=0)]
    found = of_blocks(rows.mean(axis=0) if rows.size else np.empty(0), level=level)
    if not found.known:
        return Assessment(Judgement.UNDECIDED, "fewer than two blocks are whole", None)
    found = found.widened(*part.margins.mean(axis=0))
    text = (
        f"{response.words} {response.verb('is')} {found.value * 100:.1f} %"
        f" ({found.low * 100:.1f} to {found.high * 100:.1f} %) of the {whole.words};"
        f" expected {asked.low * 100:g} to {asked.high * 100:g} %"
    )
    inside = asked.low <= found.low and found.high <= asked.high
    outside = found.high < asked.low or found.low > asked.high
    return Assessment(_judged(inside, outside), text, found)


def _scales(compared: Compared, scales: Scales) -> Assessment:
    """The exponent e of response ~ factor^e: by least squares on logarithms over all levels, and
    at each step, since a curve may have several regimes. All steps must surely lie between the
    ends; it does not hold where one surely does not, all steps being looked at."""
    curve, factor = compared.curve, compared.study.factor(scales.factor)
    if len(curve.levels) < 2:
        return Assessment(Judgement.UNDECIDED, "there are runs at one level only", None)
    found = compared.exponent(curve.levels)
    if not found.blocks:
        return Assessment(Judgement.UNDECIDED, "no block has all levels", None)
    least = -math.inf if scales.exponent_at_least is None else scales.exponent_at_least
    most = math.inf if scales.exponent_at_most is None else scales.exponent_at_most
    steps = list(pairwise(curve.levels))
    plain = [compared.exponent(step) for step in steps]
    against = [compared.exponent(step, 1 - (1 - compared.level) / len(steps)) for step in steps]
    open_ = [at for at, power in enumerate(plain) if not _lies_between(power, least, most)]
    wrong = [at for at, power in enumerate(against) if _lies_outside(power, least, most)]
    text = (
        f"{compared.response.words} {compared.response.verb('goes')} as"
        f" {words.spaced(scales.factor)} to the power {_power(found)};"
        f" expected {_range(least, most)}"
    )
    if len(steps) > 1 and (chosen := wrong or open_):
        a, b = steps[chosen[0]]
        span = words.span(factor, a, b)
        text += f"; {span} to the power {_power(plain[chosen[0]])}"
    text += _nothing_known(factor, compared.unknown)
    held = not open_ and not compared.unknown
    outside = _lies_outside(found, least, most)
    return Assessment(_judged(held, bool(wrong) or outside), text, found)


def _lies_between(found: Estimate, least: float, most: float) -> bool:
    return math.log(found.low) >= least and math.log(found.high) <= most


def _lies_outside(found: Estimate, least: float, most: float) -> bool:
    return math.log(found.high) < least or math.log(found.low) > most


def _power(found: Estimate) -> str:
    """An exponent, which is kept as the logarithm of a ratio."""
    value, low, high = (math.log(end) for end in (found.value, found.low, found.high))
    if not found.known:
        return f"{value:.2f} ({words.NO_INTERVAL})"
    if not found.open:
        return f"{value:.2f} ({low:.2f} to {high:.2f})"
    ends = [f"at least {low:.2f}"] if found.low > 1 / UNBOUNDED else []
    ends += [f"at most {high:.2f}"] if found.high < UNBOUNDED else []
    return f"{value:.2f} ({ends[0] if ends else 'or anything'})"


def _range(least: float, most: float) -> str:
    if math.isinf(most):
        return f"at least {least:g}"
    return f"at most {most:g}" if math.isinf(least) else f"{least:g} to {most:g}"


def _side(levels: Iterable[Any], level: Any, beyond: bool) -> list[Any]:
    """The levels from the named one on, or up to it."""
    return [other for other in levels if (other >= level if beyond else other <= level)]


def _nothing_known(factor: StudyFactor, levels: Sequence[Any]) -> str:
    """What a statement that all levels must fulfil is not known of."""
    if not levels:
        return ""
    return f"; nothing is known {words.either(factor, levels)}"


def _pairs(compared: Compared, levels: Iterable[Any]) -> dict[Pair, Estimate]:
    """The ratios of later levels to earlier ones, of those that have runs in a block."""
    found = {(b, a): compared.ratio(b, a) for a, b in combinations(levels, 2)}
    return {pair: change for pair, change in found.items() if change.blocks}


def _judged(held: bool, not_held: bool) -> Judgement:
    if not_held:
        return Judgement.NOT_HELD
    return Judgement.HELD if held else Judgement.UNDECIDED


def _opposite(found: Assessment) -> Assessment:
    held, not_held = found.answer is Judgement.NOT_HELD, found.answer is Judgement.HELD
    return replace(found, answer=_judged(held, not_held))


def _reach(change: Estimate, surely: bool) -> float:
    """How far from 1 a ratio is, as a logarithm: surely, or at most."""
    bounds = (change.low, change.high) if change.known else (change.value,)
    ends = [abs(math.log(bound)) for bound in bounds]
    return min(ends) if surely else max(ends)


def _p(estimate: Estimate) -> str:
    return f", {words.p_value(estimate.p)}" if math.isfinite(estimate.p) else ""
