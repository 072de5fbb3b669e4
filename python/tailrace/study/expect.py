"""[[expect]]: a statement of the study's document as a comparison, answered held, not held or undecided.

Held: the interval lies wholly where the statement says. Not held: wholly outside. Undecided: the runs allow both.
Comparisons are made within blocks and averaged over the factors that the statement does not name.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.study import contrasts, words
from tailrace.study.contrasts import Family
from tailrace.study.intervals import Estimate, of_blocks
from tailrace.study.layout import Curve, Factor, Layout, curves
from tailrace.study.measured import Measured
from tailrace.study.model import EXPECTATIONS
from tailrace.study.responses import response

HELD, NOT_HELD, UNDECIDED = "held", "not held", "undecided"
# A change from end to end that is surely less than this is no rise and no fall.
STEADY = 0.05


@dataclass(frozen=True)
class Answer:
    """To one [[expect]]. `estimate` is what was compared, `evidence` says it in words, `runs` is how many took part."""

    claim: str
    seed_value: str
    kind: str
    answer: str
    evidence: str
    response: str
    where: Mapping[str, Any]
    estimate: Estimate | None
    runs: int


def evaluate(study: Measured) -> list[Answer]:
    return [_Statement(study, one).answer() for one in study.plan["study"].get("expect", [])]


class _Statement:
    """One [[expect]] and the runs that it speaks of."""

    def __init__(self, study: Measured, given: Mapping[str, Any]) -> None:
        self.study, self.given = study, given
        self.kind = next(kind for kind in EXPECTATIONS if given.get(kind) is not None)
        self.asked: Mapping[str, Any] = given[self.kind]
        self.response = response(given.get("response") or study.plan["response"])
        self.where = dict(given.get("where") or {})
        self.values = self._values()
        self.table: Layout = study.table(self.values).restricted(self.where)

    def _values(self) -> Any:
        values = self.study.column(self.response.column)
        return values / self.study.column(self.asked["of"]) if self.kind == "share" else values

    def answer(self) -> Answer:
        answer, evidence, estimate = self._found() if len(self.table.logs) else self._nothing()
        return Answer(
            claim=self.given["claim"],
            seed_value=self.given.get("seed_value") or "",
            kind=self.kind,
            answer=answer,
            evidence=evidence,
            response=self.response.column,
            where=self.where,
            estimate=estimate,
            runs=int(np.isfinite(self.table.logs).sum()),
        )

    def _nothing(self) -> tuple[str, str, Estimate | None]:
        return UNDECIDED, f"no finished run has a {self.response.words} here", None

    def _found(self) -> tuple[str, str, Estimate | None]:
        return getattr(self, f"_{self.kind}")()

    # --- along a factor

    def _curve(self) -> tuple[Family, Curve]:
        """The factor's curve where the statement looks, and its siblings elsewhere, averaged in the same way."""
        name = self.asked["factor"]
        others = [factor.name for factor in self.study.factors if factor.name != name]
        averaged = [other for other in others if isinstance(self.where.get(other, []), list)]
        here = curves(self.table, name, averaged)[0]
        lists = {key: levels for key, levels in self.where.items() if isinstance(levels, list)}
        everywhere = self.study.table(self.values).restricted(lists)
        return Family(curves(everywhere, name, averaged), self.study.alike), here

    def _ends(self, beyond: bool) -> tuple[Factor, Family, Curve, list[Any]]:
        """The levels from the named one on, or up to it, that have runs."""
        family, curve = self._curve()
        level = self.asked["level"]
        side = [one for one in curve.levels if (one >= level if beyond else one <= level)]
        return self.study.factor(self.asked["factor"]), family, curve, side

    def _rises_beyond(self) -> tuple[str, str, Estimate | None]:
        return self._goes(beyond=True, wanted_rise=True)

    def _falls_until(self) -> tuple[str, str, Estimate | None]:
        return self._goes(beyond=False, wanted_rise=False)

    def _goes(self, beyond: bool, wanted_rise: bool) -> tuple[str, str, Estimate | None]:
        """The trend over one side of the named level: a power law's exponent, shown as the change from end to end."""
        factor, family, curve, side = self._ends(beyond)
        if len(side) < 2:
            return (
                UNDECIDED,
                f"on that side of {words.named(factor, self.asked['level'])} there is nothing to compare",
                None,
            )
        reach = math.log(side[-1] / side[0])
        weights = {level: weight * reach for level, weight in contrasts.slope(side).items()}
        change = family.compare(curve, weights)
        answer = _one_sided(change if wanted_rise else change.inverted())
        span = f"from {words.plain(factor, side[0])} to {words.named(factor, side[-1])}"
        text = f"{span}, {self.response.words} {words.becomes(change)} along its trend"
        return answer, f"{text}{_p(change)}; {self._least(factor, curve)}", change

    def _least(self, factor: Factor, curve: Curve) -> str:
        means = curve.means()
        if not np.isfinite(means).any():
            return "no block is whole"
        best = curve.levels[int(np.nanargmin(means))]
        value = self.response.text(math.exp(float(np.nanmin(means))))
        return f"the lowest, {value}, is at {words.named(factor, best)}"

    def _flat_beyond(self) -> tuple[str, str, Estimate | None]:
        factor, family, curve, side = self._ends(beyond=True)
        level, within = self.asked["level"], self.asked.get("within", 0.1)
        found = {one: family.compare(curve, contrasts.ratio(one, level)) for one in side if one != level}
        found = {one: estimate for one, estimate in found.items() if estimate.blocks}
        if level not in curve.levels or not found:
            return UNDECIDED, "there are no runs to compare with beyond that level", None
        return self._all_within(factor, level, found, within)

    def _all_within(
        self, factor: Factor, base: Any, found: Mapping[Any, Estimate], within: float
    ) -> tuple[str, str, Estimate]:
        beyond = {level: one for level, one in found.items() if one.outside(within)}
        held = all(one.within(within) for one in found.values())
        answer = NOT_HELD if beyond else HELD if held else UNDECIDED
        farthest = max(beyond or found, key=lambda level: _reach(found[level], surely=bool(beyond)))
        change = found[farthest]
        text = (
            f"{self.response.words}, {words.named(factor, farthest)} against {words.plain(factor, base)}:"
            f" {words.compared(change)}; {within * 100:g} % either way is asked for"
        )
        return answer, text, change

    # --- between levels

    def _faster(self) -> tuple[str, str, Estimate | None]:
        family, curve = self._curve()
        level, than, by = self.asked["level"], self.asked["than"], self.asked.get("by", 1.0)
        factor = self.study.factor(self.asked["factor"])
        better = contrasts.ratio(level, than) if self.response.more_is_better else contrasts.ratio(than, level)
        gain = family.compare(curve, better)
        if not gain.blocks:
            return UNDECIDED, "one of the two has no finished runs in a block with the other", None
        answer = HELD if gain.low >= by else NOT_HELD if gain.high < by else UNDECIDED
        values = [self._typical(factor, curve, one) for one in (level, than)]
        asked = f"; at least {by:g} times is asked for" if by != 1 else ""
        as_what = "as high" if self.response.more_is_better else "as fast"
        gained = f"the first is {words.times(gain)} {as_what}{_p(gain)}"
        text = f"{self.response.words}: {', '.join(values)}; {gained}{asked}"
        return answer, text, gain

    def _typical(self, factor: Factor, curve: Curve, level: Any) -> str:
        mean = curve.means()[curve.levels.index(level)]
        return f"{words.named(factor, level)} {self.response.text(math.exp(float(mean)))}"

    def _matters(self) -> tuple[str, str, Estimate | None]:
        opposite, text, estimate = self._does_not_matter()
        return {HELD: NOT_HELD, NOT_HELD: HELD}.get(opposite, UNDECIDED), text, estimate

    def _does_not_matter(self) -> tuple[str, str, Estimate | None]:
        """Every level against the first: all within the named share, or one surely beyond it."""
        family, curve = self._curve()
        factor = self.study.factor(self.asked["factor"])
        base = curve.levels[0]
        found = {one: family.compare(curve, contrasts.ratio(one, base)) for one in curve.levels[1:]}
        found = {one: estimate for one, estimate in found.items() if estimate.blocks}
        if not found:
            return UNDECIDED, f"there are runs at one level of {words.spaced(factor.name)} only", None
        return self._all_within(factor, base, found, self.asked.get("within", STEADY))

    # --- of all runs

    def _share(self) -> tuple[str, str, Estimate | None]:
        """The mean over combinations in each block that has all of them, then over blocks."""
        whole = self.table.logs[:, np.isfinite(self.table.logs).all(axis=0)]
        share = of_blocks(whole.mean(axis=0) if whole.size else np.empty(0))
        low, high = self.asked["low"], self.asked["high"]
        if not share.known:
            return UNDECIDED, "fewer than two blocks are whole", None
        inside, outside = low <= share.low and share.high <= high, share.high < low or share.low > high
        answer = HELD if inside else NOT_HELD if outside else UNDECIDED
        of = response(self.asked["of"]).words
        text = (
            f"{self.response.words} is {share.value * 100:.1f} % ({share.low * 100:.1f} to {share.high * 100:.1f} %)"
            f" of the {of}; {low * 100:g} to {high * 100:g} % is asked for"
        )
        return answer, text, share

    def _scales(self) -> tuple[str, str, Estimate | None]:
        """The exponent e of response ~ factor^e, by least squares on logarithms."""
        family, curve = self._curve()
        if len(curve.levels) < 2:
            return UNDECIDED, "there are runs at one level only", None
        found = family.compare(curve, contrasts.slope(curve.levels))
        exponent, low, high = (math.log(one) for one in (found.value, found.low, found.high))
        wanted = self.asked["exponent_at_least"]
        answer = HELD if low >= wanted else NOT_HELD if high < wanted else UNDECIDED
        span = f"{low:.2f} to {high:.2f}" if found.known else words.NO_INTERVAL
        text = (
            f"{self.response.words} goes as {words.spaced(self.asked['factor'])} to the power {exponent:.2f}"
            f" ({span}); at least {wanted:g} is asked for"
        )
        return answer, text, found


def _reach(change: Estimate, surely: bool) -> float:
    """How far from 1 a ratio is, as a logarithm: surely, or at most."""
    ends = [abs(math.log(one)) for one in (change.low, change.high)] if change.known else [abs(math.log(change.value))]
    return min(ends) if surely else max(ends)


def _one_sided(change: Estimate) -> str:
    """Of a change that should be above 1."""
    if change.beyond(1):
        return HELD
    return NOT_HELD if change.below(1) or (change.known and change.within(STEADY)) else UNDECIDED


def _p(estimate: Estimate) -> str:
    return f", {words.p_value(estimate.p)}" if math.isfinite(estimate.p) else ""
