"""[[expect]]: a statement of the study's document as a comparison, answered held, not held or
undecided.

Held: the interval lies wholly where the statement says. Not held: wholly outside. Undecided: the
runs allow both. Comparisons are made within blocks and averaged over the factors that the statement
does not name.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from tailrace.study.analysis import contrasts, words
from tailrace.study.analysis.contrasts import Family
from tailrace.study.analysis.intervals import Estimate, of_blocks
from tailrace.study.analysis.layout import Curve, Layout, StudyFactor, curves
from tailrace.study.analysis.measured import Measured
from tailrace.study.definition.model import Expect, Faster, Matters, Scales, ShareOf, Turn

# A change from end to end that is surely less than this is neither a rise nor a fall.
STEADY = 0.05


class Judgement(StrEnum):
    HELD = "held"
    NOT_HELD = "not held"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Assessment:
    """What the runs say of a statement: the answer, the evidence in words, and what was
    compared."""

    answer: Judgement
    evidence: str
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Answer:
    """To one [[expect]]. `estimate` is what was compared, `evidence` says it in words, `runs` is
    how many took part."""

    claim: str
    paper_value: str
    kind: str
    answer: Judgement
    evidence: str
    response: str
    where: Mapping[str, Any]
    estimate: Estimate | None
    runs: int


def evaluate(study: Measured) -> list[Answer]:
    expected = [Expect.model_validate(given) for given in study.plan["study"].get("expect", [])]
    return [_Statement(study, expect).answer() for expect in expected]


class _Statement:
    """One [[expect]] and the runs that it speaks of."""

    def __init__(self, study: Measured, expect: Expect) -> None:
        self.study, self.expect, self.where = study, expect, expect.where
        self.response = study.response_of(expect.response or study.plan["response"])
        self.values: pd.Series = study.column(self.response.column)
        if expect.share is not None:
            self.values = self.values / study.column(expect.share.of)
        self.table: Layout = study.table(self.values).restricted(self.where)

    def answer(self) -> Answer:
        nothing = f"no finished run has a {self.response.words} here"
        found = (
            self._assessed() if len(self.table.logs) else Assessment(Judgement.UNDECIDED, nothing)
        )
        return Answer(
            claim=self.expect.claim,
            paper_value=self.expect.paper_value,
            kind=next(iter(self.expect.given)),
            answer=found.answer,
            evidence=found.evidence,
            response=self.response.column,
            where=self.where,
            estimate=found.estimate,
            runs=int(np.isfinite(self.table.logs).sum()),
        )

    def _assessed(self) -> Assessment:
        match self.expect:
            case Expect(rises_beyond=Turn() as turn):
                return self._goes(turn, beyond=True, rise=True)
            case Expect(falls_until=Turn() as turn):
                return self._goes(turn, beyond=False, rise=False)
            case Expect(flat_beyond=Turn() as turn):
                return self._flat_beyond(turn)
            case Expect(faster=Faster() as faster):
                return self._faster(faster)
            case Expect(matters=Matters() as matters):
                return _opposite(self._does_not_matter(matters))
            case Expect(does_not_matter=Matters() as matters):
                return self._does_not_matter(matters)
            case Expect(share=ShareOf() as share):
                return self._share(share)
            case Expect(scales=Scales() as scales):
                return self._scales(scales)
        raise AssertionError(f"{self.expect.claim}: an [[expect]] without a comparison")

    # --- along a factor

    def _curve(self, name: str) -> tuple[Family, Curve]:
        """The factor's curve where the statement looks, and its siblings elsewhere, averaged in the
        same way."""
        others = [factor.name for factor in self.study.factors if factor.name != name]
        averaged = [other for other in others if isinstance(self.where.get(other, []), list)]
        here = curves(self.table, name, averaged)[0]
        lists = {key: levels for key, levels in self.where.items() if isinstance(levels, list)}
        everywhere = self.study.table(self.values).restricted(lists)
        return Family(curves(everywhere, name, averaged), self.study.alike), here

    def _goes(self, turn: Turn, beyond: bool, rise: bool) -> Assessment:
        """The trend over one side of the named level: a power law's exponent, shown as the change
        from end to end."""
        factor = self.study.factor(turn.factor)
        family, curve = self._curve(turn.factor)
        side = _side(curve, turn.level, beyond)
        if len(side) < 2:
            nothing = (
                f"on that side of {words.named(factor, turn.level)} there is nothing to compare"
            )
            return Assessment(Judgement.UNDECIDED, nothing)
        reach = math.log(side[-1] / side[0])
        weights = {level: weight * reach for level, weight in contrasts.slope(side).items()}
        change = family.compare(curve, weights)
        span = f"from {words.plain(factor, side[0])} to {words.named(factor, side[-1])}"
        text = f"{span}, {self.response.words} {words.becomes(change)} along its trend"
        return Assessment(
            _one_sided(change if rise else change.inverted()),
            f"{text}{_p(change)}; {self._least(factor, curve)}",
            change,
        )

    def _least(self, factor: StudyFactor, curve: Curve) -> str:
        means = curve.means()
        if not np.isfinite(means).any():
            return "no block is whole"
        best = curve.levels[int(np.nanargmin(means))]
        value = self.response.text(math.exp(float(np.nanmin(means))))
        return f"the lowest, {value}, is at {words.named(factor, best)}"

    def _flat_beyond(self, turn: Turn) -> Assessment:
        family, curve = self._curve(turn.factor)
        side = _side(curve, turn.level, beyond=True)
        found = _against(family, curve, turn.level, side)
        if turn.level not in curve.levels or not found:
            nothing = "there are no runs to compare with beyond that level"
            return Assessment(Judgement.UNDECIDED, nothing)
        return self._all_within(self.study.factor(turn.factor), turn.level, found, turn.within)

    def _all_within(
        self, factor: StudyFactor, base: Any, found: Mapping[Any, Estimate], within: float
    ) -> Assessment:
        beyond = [level for level, change in found.items() if change.outside(within)]
        held = all(change.within(within) for change in found.values())
        farthest = max(beyond or found, key=lambda level: _reach(found[level], surely=bool(beyond)))
        against = f"{words.named(factor, farthest)} against {words.plain(factor, base)}"
        text = (
            f"{self.response.words}, {against}: {words.compared(found[farthest])};"
            f" expected within {within * 100:g} %"
        )
        return Assessment(_judged(held, bool(beyond)), text, found[farthest])

    # --- between levels

    def _faster(self, faster: Faster) -> Assessment:
        more = self.response.more_is_better
        factor = self.study.factor(faster.factor)
        family, curve = self._curve(faster.factor)
        first, second = faster.level, faster.than
        ratio = contrasts.ratio(first, second) if more else contrasts.ratio(second, first)
        gain = family.compare(curve, ratio)
        if not gain.blocks:
            nothing = "one of the two has no finished runs in a block with the other"
            return Assessment(Judgement.UNDECIDED, nothing)
        means = dict(zip(curve.levels, curve.means(), strict=True))
        values = [
            f"{words.named(factor, level)} {self.response.text(math.exp(float(means[level])))}"
            for level in (first, second)
        ]
        gained = f"the first is {words.times(gain)} {'as high' if more else 'as fast'}{_p(gain)}"
        asked = f"; expected at least {faster.by:g} times" if faster.by != 1 else ""
        return Assessment(
            _judged(gain.low >= faster.by, gain.high < faster.by),
            f"{self.response.words}: {', '.join(values)}; {gained}{asked}",
            gain,
        )

    def _does_not_matter(self, matters: Matters) -> Assessment:
        """Every level against the first: all within the named share, or one surely beyond it."""
        family, curve = self._curve(matters.factor)
        factor = self.study.factor(matters.factor)
        base = curve.levels[0]
        found = _against(family, curve, base, curve.levels)
        if not found:
            nothing = f"there are runs at one level of {words.spaced(factor.name)} only"
            return Assessment(Judgement.UNDECIDED, nothing)
        return self._all_within(factor, base, found, matters.within)

    # --- of all runs

    def _share(self, asked: ShareOf) -> Assessment:
        """The mean over combinations in each block that has all of them, then over blocks."""
        whole = self.table.logs[:, np.isfinite(self.table.logs).all(axis=0)]
        share = of_blocks(whole.mean(axis=0) if whole.size else np.empty(0))
        if not share.known:
            return Assessment(Judgement.UNDECIDED, "fewer than two blocks are whole", None)
        text = (
            f"{self.response.words} is {share.value * 100:.1f} %"
            f" ({share.low * 100:.1f} to {share.high * 100:.1f} %) of the"
            f" {self.study.response_of(asked.of).words};"
            f" expected {asked.low * 100:g} to {asked.high * 100:g} %"
        )
        inside = asked.low <= share.low and share.high <= asked.high
        outside = share.high < asked.low or share.low > asked.high
        return Assessment(_judged(inside, outside), text, share)

    def _scales(self, scales: Scales) -> Assessment:
        """The exponent e of response ~ factor^e, by least squares on logarithms."""
        family, curve = self._curve(scales.factor)
        if len(curve.levels) < 2:
            return Assessment(Judgement.UNDECIDED, "there are runs at one level only", None)
        found = family.compare(curve, contrasts.slope(curve.levels))
        exponent, low, high = (math.log(end) for end in (found.value, found.low, found.high))
        wanted = scales.exponent_at_least
        span = f"{low:.2f} to {high:.2f}" if found.known else words.NO_INTERVAL
        text = (
            f"{self.response.words} goes as {words.spaced(scales.factor)} to the power"
            f" {exponent:.2f} ({span}); expected at least {wanted:g}"
        )
        return Assessment(_judged(low >= wanted, high < wanted), text, found)


def _side(curve: Curve, level: Any, beyond: bool) -> list[Any]:
    """The levels from the named one on, or up to it, that have runs."""
    return [other for other in curve.levels if (other >= level if beyond else other <= level)]


def _against(family: Family, curve: Curve, base: Any, levels: Iterable[Any]) -> dict[Any, Estimate]:
    """The levels' ratios to the base, of those that have runs in a block with it."""
    found = {
        level: family.compare(curve, contrasts.ratio(level, base))
        for level in levels
        if level != base
    }
    return {level: change for level, change in found.items() if change.blocks}


def _judged(held: bool, not_held: bool) -> Judgement:
    if not_held:
        return Judgement.NOT_HELD
    return Judgement.HELD if held else Judgement.UNDECIDED


def _opposite(found: Assessment) -> Assessment:
    held, not_held = found.answer is Judgement.NOT_HELD, found.answer is Judgement.HELD
    return Assessment(_judged(held, not_held), found.evidence, found.estimate)


def _reach(change: Estimate, surely: bool) -> float:
    """How far from 1 a ratio is, as a logarithm: surely, or at most."""
    bounds = (change.low, change.high) if change.known else (change.value,)
    ends = [abs(math.log(bound)) for bound in bounds]
    return min(ends) if surely else max(ends)


def _one_sided(change: Estimate) -> Judgement:
    """Of a change that should be above 1."""
    if change.beyond(1):
        return Judgement.HELD
    steady = change.known and change.within(STEADY)
    return _judged(False, change.below(1) or steady)


def _p(estimate: Estimate) -> str:
    return f", {words.p_value(estimate.p)}" if math.isfinite(estimate.p) else ""
