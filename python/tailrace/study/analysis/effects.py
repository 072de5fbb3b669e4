"""Which factors and which interactions matter, and by how much.

A linear model of logarithms (main effects and interactions of two) is fitted to the means of the
combinations; F allows for runs that scatter differently in each (box.py). What the combinations say
beyond that model is tested too: only where there is something, interactions of three are looked
for, and the combinations that still do not follow are named.

p values are Holm's over all effects of the response and the lack of fit: the chance that a study
without any effect is said to have one is at most 5 %. An effect must also pass an F whose error is
how it differs from block to block, uncorrected: a file system that was slow during one block only
differs within that block, and not in general. Where that error is surely larger than the scatter of
runs, it is the error.

Sizes are ratios between the levels that differ most, with Scheffé's interval, which allows for
having chosen them; of two levels it is Student's. Of an interaction it is the ratio of two such
ratios, of three factors the ratio of those. Where combinations are missing they are over the places
that have all levels in question (alike.py), and of levels that no place shares nothing is said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tailrace.study.analysis import alike, box, first_runs
from tailrace.study.analysis.alike import Contrast
from tailrace.study.analysis.cells import Cells, cells, smoothed
from tailrace.study.analysis.effect import ERROR_RATE, Effect, Fit, OnlyFirsts
from tailrace.study.analysis.first_runs import FirstRuns
from tailrace.study.analysis.intervals import UNBOUNDED, holm
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.model import Model, Term, model, of_three, triples

# So many combinations that do not follow the model are named.
STRANGE_AT_MOST = 3


@dataclass(frozen=True)
class Strange:
    """A combination that does not follow the model: the response over what the model says."""

    where: dict[str, object]
    ratio: float


@dataclass(frozen=True)
class LackOfFit:
    """What the combinations say beyond factors and interactions of two. `strange`: those that do
    not follow, where interactions of three do not explain it."""

    p_holm: float
    strange: tuple[Strange, ...] = ()

    @property
    def certain(self) -> bool:
        return self.p_holm <= ERROR_RATE


@dataclass(frozen=True)
class Analysis:
    """All effects of one response, the largest share first, and of how much of the study they
    are."""

    effects: tuple[Effect, ...]
    combinations: int
    combinations_all: int
    blocks: int
    not_estimable: tuple[tuple[str, ...], ...] = ()
    lack_of_fit: LackOfFit | None = None

    def find(self, *names: str) -> Effect | None:
        return next((effect for effect in self.effects if set(effect.factors) == set(names)), None)

    def act_together(self, *names: str) -> list[Effect]:
        """The interactions that matter and have all these factors."""
        return [
            effect
            for effect in self.effects
            if effect.matters
            and any(
                len(factors) > 1 and set(names) <= set(factors)
                for factors in (effect.factors, *effect.aliases)
            )
        ]

    @property
    def fits(self) -> bool:
        """Whether nothing is known that the effects do not say."""
        return self.lack_of_fit is None or not self.lack_of_fit.strange


def analyse(table: Layout, interactions: bool = True) -> Analysis:
    """Main effects, interactions of two, and of three where the first two do not suffice; without
    `interactions` the factors alone.

    Needs two runs of some combination; without, there are no effects.
    """
    if table.bounds.any():
        return _with_bounds(table, interactions)
    return _analyse(table, interactions)


def _with_bounds(table: Layout, interactions: bool) -> Analysis:
    """Where runs were ended before they were over, or slow ones are missing: a ceiling changes
    every effect and makes interactions where there are none. So the combinations that have no such
    run are analysed; of a level that has no others it is said that it takes so much longer at
    least, where the runs that it is compared with have all ended.
    """
    free = table.among(~table.bounds)
    found = _analyse(free, interactions)
    whole = _analyse(replace(table, censored=None, thinned=None), interactions)
    lost = {
        factor.name
        for factor, all_, left in zip(table.factors, table.codes.T, free.codes.T, strict=True)
        if len(np.unique(all_)) > len(np.unique(left))
    }
    at_least = [
        _at_least(effect)
        for effect in whole.effects
        if len(effect.factors) == 1
        and effect.factors[0] in lost
        and effect.matters
        and effect.size.low > 1
        and _any_bound(table, effect.factors[0], effect.high[0])
        and not _any_bound(table, effect.factors[0], effect.low[0])
    ]
    names = {effect.factors for effect in at_least}
    effects = [*at_least, *(effect for effect in found.effects if effect.factors not in names)]
    estimated = {effect.factors for effect in found.effects}
    missing = [each.factors for each in whole.effects if len(each.factors) == 2]
    return replace(
        found,
        effects=tuple(sorted(effects, key=lambda effect: -effect.share)),
        combinations_all=len(table.codes),
        not_estimable=tuple(
            dict.fromkeys([*found.not_estimable, *(f for f in missing if f not in estimated)])
        ),
    )


def _at_least(effect: Effect) -> Effect:
    size = replace(effect.size, high=UNBOUNDED)
    return replace(effect, size=size, size_said=size, aliases=())


def _any_bound(table: Layout, name: str, code: int) -> bool:
    return bool(table.bounds[table.codes[:, table.position(name)] == code].any())


def _analyse(table: Layout, interactions: bool) -> Analysis:
    combinations_all, blocks = table.logs.shape
    known, removed = np.isfinite(table.logs).any(axis=1), table.known_first_runs or ()
    table = Layout(
        table.factors,
        table.codes[known],
        table.logs[known],
        balanced=table.balanced,
        firsts=tuple(first[known] for first in table.firsts),
        step=table.step,
        rounded=None if table.rounded is None else table.rounded[known],
        missing=None if table.missing is None else table.missing[known],
    )
    enough = blocks > 1 and len(table.codes) > 1
    found = cells(table.logs, table.spread) if enough else None
    if found is None:
        return Analysis((), len(table.codes), combinations_all, blocks)
    found = smoothed(found, table.spread)
    fitted = model(table.codes, interactions=interactions)
    firsts = _first_runs(table)
    found = _as_removed(found, removed, firsts)
    table = replace(table, known_first_runs=_known_first_runs(table, fitted, found, firsts))
    told, apart = _comparable(fitted, table, found)
    effects = [Fit(table, found, firsts, *each).effect() for each in told]
    lack = _lack_of_fit(fitted, found)
    if lack is not None and lack <= ERROR_RATE:
        lack = _lack_without_first_runs(fitted, table, firsts, lack)
    raw = [effect.p_runs for effect in effects] + ([] if lack is None else [lack])
    corrected = [float(p) for p in holm(raw)]
    effects = _by_days(_corrected(effects, corrected[: len(effects)]))
    misfit = None
    if lack is not None:
        misfit, more = _explained(table, found, firsts, corrected[-1], interactions)
        effects += more
    if table.balanced:
        effects = [_with_aliases(effect, fitted, table) for effect in effects]
    return Analysis(
        tuple(sorted(effects, key=lambda effect: -effect.share)),
        len(table.codes),
        combinations_all,
        blocks,
        tuple(tuple(table.factors[i].name for i in term) for term in (*apart, *fitted.left_out)),
        misfit,
    )


def _corrected(effects: Sequence[Effect], p: Sequence[float]) -> list[Effect]:
    return [replace(effect, p_holm=one) for effect, one in zip(effects, p, strict=True)]


def _by_days(effects: Sequence[Effect]) -> list[Effect]:
    """Where something surely changes from block to block, as a file system that is slow on one day,
    anything may: then the blocks alone tell what is so of all effects, and p of these is corrected
    for their number as that of runs is. One that happens to be alike in all blocks would not be
    noticed by itself."""
    least = min((effect.unlike_p for effect in effects), default=1.0)
    if least * len(effects) > ERROR_RATE:
        return list(effects)
    p = holm([effect.p for effect in effects])
    return [replace(effect, p=float(one)) for effect, one in zip(effects, p, strict=True)]


def _pairs(fitted: Model) -> list[tuple[Term, np.ndarray]]:
    return list(zip(fitted.terms, fitted.rows, strict=True))


def _comparable(
    fitted: Model, table: Layout, found: Cells
) -> tuple[list[tuple[Term, np.ndarray, Contrast | None]], list[tuple[int, ...]]]:
    """The terms of which something can be said, with the levels that differ most where these have
    to be compared place by place; and those whose levels were nowhere run with everything else
    alike."""
    told, apart = [], []
    for term, rows in _pairs(fitted):
        is_gappy = _is_gappy(table, term)
        contrast = alike.widest(table.codes, term.positions, found.means) if is_gappy else None
        if is_gappy and contrast is None:
            apart.append(term.positions)
        else:
            told.append((term, rows, contrast))
    return told, apart


def _is_gappy(table: Layout, term: Term) -> bool:
    """Whether its levels have to be compared place by place, as combinations are missing."""
    if table.balanced or alike.is_whole(table.codes):
        return False
    return term.partial or len(term.positions) == 1


def _lack_of_fit(fitted: Model, found: Cells) -> float | None:
    """p; None where the model says all that there is to say."""
    if len(fitted.basis) <= fitted.basis.shape[1]:
        return None
    return box.beyond(fitted.basis, found).p


def _first_runs(table: Layout) -> OnlyFirsts:
    found = [cells(first_runs.among(first, table.logs), table.spread) for first in table.firsts]
    return tuple(None if one is None else smoothed(one, table.spread) for one in found)


def _as_removed(found: Cells, removed: Sequence[FirstRuns], firsts: OnlyFirsts) -> Cells:
    """Where what first runs take longer was taken out, the means have its error, each as many times
    as it has first runs."""
    errors = [
        known.error * first.means
        for known, first in zip(removed, firsts, strict=False)
        if first is not None and known.is_removed
    ]
    return replace(found, of_blocks=np.column_stack([found.of_blocks, *errors]))


def _known_first_runs(
    table: Layout, fitted: Model, found: Cells, firsts: OnlyFirsts
) -> tuple[FirstRuns, ...]:
    """Where runs do not say how much longer they take, what the combinations say."""
    return tuple(
        known
        if first is None or known.known
        else first_runs.beside(fitted.basis, first.means, found.means)
        for known, first in zip(table.first_runs, firsts, strict=True)
    )


def _lack_without_first_runs(
    fitted: Model, table: Layout, firsts: OnlyFirsts, lack: float
) -> float:
    """p, where slower first runs alone would make it small: of what is left without them, as far as
    that is known."""
    for only, first, known in zip(firsts, table.firsts, table.first_runs, strict=True):
        p = None if only is None else _lack_of_fit(fitted, only)
        if p is None or p > ERROR_RATE:
            continue
        left = cells(table.logs - known.value * first, table.spread) if known.known else None
        without = None if left is None else _lack_of_fit(fitted, smoothed(left, table.spread))
        lack = 1.0 if without is None else max(lack, without)
    return lack


def _with_aliases(effect: Effect, fitted: Model, table: Layout) -> Effect:
    names = [factor.name for factor in table.factors]
    for term in fitted.terms:
        if tuple(names[i] for i in term.positions) == effect.factors:
            mixed = fitted.aliases(term, table.codes)
            return replace(
                effect,
                aliases=tuple(tuple(names[i] for i in one) for one in mixed),
                may_be_three=of_three(table.codes, term.columns),
            )
    return effect


def _explained(
    table: Layout, found: Cells, firsts: OnlyFirsts, p: float, interactions: bool
) -> tuple[LackOfFit, list[Effect]]:
    """Which interactions of three explain the lack of fit, and what remains then. They are looked
    for only where there is one for certain, so that p is Holm's over them alone."""
    if p > ERROR_RATE:
        return LackOfFit(p), []
    if not interactions:
        return LackOfFit(p, _strange(table, found, model(table.codes, (), False).basis)), []
    whole = model(table.codes, () if table.balanced else triples(table.codes))
    of_three = [pair for pair in _pairs(whole) if len(pair[0].positions) == 3]
    effects = [Fit(table, found, firsts, *pair).effect() for pair in of_three]
    effects = _corrected(effects, [float(one) for one in holm([e.p_runs for e in effects])])
    certain = tuple(
        pair[0].positions for pair, effect in zip(of_three, effects, strict=True) if effect.matters
    )
    with_them = model(table.codes, certain)
    left = _lack_of_fit(with_them, found)
    if left is None or (certain and left > ERROR_RATE):
        return LackOfFit(p), effects
    return LackOfFit(p, _strange(table, found, with_them.basis)), effects


def _strange(table: Layout, found: Cells, basis: np.ndarray) -> tuple[Strange, ...]:
    """The combinations that lie farthest from the model, in units of their errors."""
    away = found.means - basis @ (basis.T @ found.means)
    # what a single odd combination does to its own residual
    freedom = np.maximum(1 - np.sum(basis**2, axis=1), 1e-9)
    least = max(float(np.median(found.squared_errors)), np.finfo(float).tiny)
    surely = np.abs(away) / np.sqrt(np.maximum(found.squared_errors, least) * freedom)
    chosen = np.argsort(-surely)[:STRANGE_AT_MOST]
    return tuple(Strange(table.where[at], math.exp(away[at] / freedom[at])) for at in chosen)
