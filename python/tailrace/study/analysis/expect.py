"""[[expect]]: a statement of the study's document as a comparison, answered held, not held or
undecided; skipped where the study was run without levels that it names.

Held: the interval lies wholly where the statement says. Not held: wholly outside. Undecided: the
runs allow both. Comparisons are made within blocks and averaged over the factors that the statement
does not name; with `everywhere` in each of their combinations instead: held where it holds in all,
each by its own interval (all must, so that none is lucky), and not held where it surely does not in
one, by an interval that Bonferroni corrects for all of them. A control takes part where the
statement names it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from tailrace.study.analysis import aliasing, comparing, words
from tailrace.study.analysis.comparing import Assessment, Compared, Judgement
from tailrace.study.analysis.contrasts import Family
from tailrace.study.analysis.controls import without_controls
from tailrace.study.analysis.grammar import is_plural
from tailrace.study.analysis.intervals import LEVEL, Estimate
from tailrace.study.analysis.layout import Curve, Layout, curves
from tailrace.study.analysis.measured import Measured, has_levels
from tailrace.study.definition.model import Expect, MattersMore, ShareOf
from tailrace.units import count

__all__ = ["Answer", "Judgement", "evaluate"]


class Simulated(StrEnum):
    NOTHING = "nothing"
    PART = "part"
    ALL = "all"


# Where a study does not say what computing takes.
WITHOUT_COMPUTING = {
    Simulated.PART: ", where computing takes no time: run.step_seconds says what it takes",
    Simulated.ALL: ", where computing takes no time",
}


@dataclass(frozen=True)
class Answer:
    """To one [[expect]]. `estimate` is what was compared, `evidence` says it in words, `runs` is
    how many took part. `ours`: the statement is not in the study's document. `simulated`: how much
    of what was compared was."""

    claim: str
    paper_value: str
    kind: str
    answer: Judgement
    evidence: str
    response: str
    where: Mapping[str, Any]
    estimate: Estimate | None
    runs: int
    ours: bool
    everywhere: bool
    simulated: Simulated


def evaluate(study: Measured) -> list[Answer]:
    expected = [Expect.model_validate(given) for given in study.plan["study"].get("expect", [])]
    return [_Statement(without_controls(study, one.named), one).answer() for one in expected]


class _Statement:
    """One [[expect]] and the runs that it speaks of."""

    def __init__(self, study: Measured, expect: Expect) -> None:
        self.study, self.expect, self.where = study, expect, expect.where
        self.response = study.response_of(expect.response or study.plan["response"])
        self.absent = list(_absent(study, expect))

    @property
    def _factor(self) -> str:
        """That which is looked at; none where a share is."""
        ((_, asked),) = self.expect.given.items()
        return str(getattr(asked, "factor", ""))

    def _compared_runs(self) -> Layout:
        if self.expect.share is None:
            return self.study.compared(self.response.column)
        return self.study.share(self.response.column, self.expect.share.of)

    def answer(self) -> Answer:
        runs, simulated = 0, Simulated.NOTHING
        if self.absent:
            found = Assessment(
                Judgement.SKIPPED, f"it was run without {words.joined(self.absent, 'or')}"
            )
        else:
            self.whole = self._compared_runs()
            self.table: Layout = self.whole.restricted(self.where)
            runs, simulated = int(self.table.run_counts.sum()), self._simulated()
            a = "" if is_plural(self.response.words) else "a "
            nothing = f"no finished run has {a}{self.response.words} here"
            found = (
                self._assessed()
                if len(self.table.logs)
                else Assessment(Judgement.UNDECIDED, nothing)
            )
            found = self._in_all_places(found)
            if simulated is Simulated.PART and not self.study.states_computing:
                # the runs compute, and the simulations do not
                found = replace(found, answer=Judgement.UNDECIDED)
            if mixed := aliasing.undecided(self.study, self.expect):
                found = replace(found, answer=Judgement.UNDECIDED, evidence=found.evidence + mixed)
            elif found.answer is not Judgement.UNDECIDED:
                unless = aliasing.unless_three(self.study, self.expect)
                found = replace(found, evidence=found.evidence + unless)
        return Answer(
            claim=self.expect.claim,
            paper_value=self.expect.paper_value,
            kind=next(iter(self.expect.given)),
            answer=found.answer,
            evidence=found.evidence + self._on_models(simulated),
            response=self.response.column,
            where=self.where,
            estimate=found.estimate,
            runs=runs,
            ours=self.expect.ours,
            everywhere=self.expect.everywhere,
            simulated=simulated,
        )

    def _simulated(self) -> Simulated:
        """How much of what is compared: the levels that the statement names, where it looks."""
        table = self.table.restricted(_compared_levels(self.expect))
        some = table.simulated
        if not some.any():
            return Simulated.NOTHING
        return Simulated.ALL if some.all() else Simulated.PART

    def _on_models(self, simulated: Simulated) -> str:
        if simulated is Simulated.NOTHING:
            return ""
        much = "simulated" if simulated is Simulated.ALL else "partly simulated"
        free = "" if self.study.states_computing else WITHOUT_COMPUTING[simulated]
        where = {**_compared_levels(self.expect), **self.where}
        return f"; {much}, on {words.joined(self.study.models_of(where))}{free}"

    def _assessed(self) -> Assessment:
        match self.expect:
            case Expect(matters_more=MattersMore() as more):
                return self._matters_more(more)
            case Expect(share=ShareOf() as share):
                return self._share(share)
        places = self._curves(self._factor)
        if len(places) == 1:
            return self._compared(*places[0], LEVEL)
        return self._everywhere(places)

    def _compared(self, family: Family, curve: Curve, level: float) -> Assessment:
        planned = self.study.levels_planned(self._factor, {**self.where, **curve.where})
        unknown = tuple(level for level in planned if level not in curve.levels)
        compared = Compared(self.study, self.response, self.expect, family, curve, level, unknown)
        return comparing.assess(compared)

    def _everywhere(self, places: list[tuple[Family, Curve]]) -> Assessment:
        """In each place. What decides is said: the place where it does not hold, or the first where
        it is undecided, or else the first."""
        careful = 1 - (1 - LEVEL) / len(places)
        plain = [self._compared(*place, LEVEL) for place in places]
        against = [self._compared(*place, careful) for place in places]
        for answers, wanted in (
            (against, Judgement.NOT_HELD),
            (plain, Judgement.UNDECIDED),
            (plain, Judgement.NOT_HELD),
        ):
            chosen = [at for at, one in enumerate(answers) if one.answer is wanted]
            if chosen:
                at = chosen[0]
                answer = wanted if answers is against else Judgement.UNDECIDED
                return self._in_place(answer, answers[at], places[at][1], len(chosen), len(places))
        weakest = min(range(len(plain)), key=lambda at: _distance(plain[at].estimate))
        return self._in_place(
            Judgement.HELD, plain[weakest], places[weakest][1], len(places), len(places)
        )

    def _in_place(
        self, answer: Judgement, found: Assessment, curve: Curve, number: int, places: int
    ) -> Assessment:
        varied = {factor.name for factor in self.study.varied}
        where = {name: level for name, level in curve.where.items() if name in varied}
        there = words.places(self.study.factors, where)
        text = f"{answer} in {number} of {places} places; {there}: {found.evidence}"
        return Assessment(answer, text, found.estimate)

    def _in_all_places(self, found: Assessment) -> Assessment:
        """A statement that must hold everywhere does not where nothing is known of some place."""
        if found.answer is not Judgement.HELD or not self.expect.everywhere:
            return found
        more = self.expect.matters_more
        sides = [more.with_, more.than] if more else [{}]
        left = {self._factor, *(name for side in sides for name in side)}
        names = [factor.name for factor in self.study.factors if factor.name not in left]

        def places(rows: Iterable[Mapping[str, Any]]) -> set[tuple[Any, ...]]:
            """Those that have all that is compared."""
            of_sides = [[row for row in rows if has_levels(row, side)] for side in sides]
            return set.intersection(
                *({tuple(row[name] for name in names) for row in some} for some in of_sides)
            )

        unknown = places(self.study.all_planned(self.where)) - places(self.table.where)
        if not unknown:
            return found
        text = f"{found.evidence}; nothing is known of {count(len(unknown), 'further place')}"
        return replace(found, answer=Judgement.UNDECIDED, evidence=text)

    # --- where it looks

    def _averaged(self, name: str) -> list[str]:
        """The factors over which it is averaged."""
        if self.expect.everywhere:
            return []
        others = [factor.name for factor in self.study.factors if factor.name != name]
        return [other for other in others if isinstance(self.where.get(other, []), list)]

    def _curves(self, name: str) -> list[tuple[Family, Curve]]:
        """The factor's curves where the statement looks; siblings elsewhere, averaged in the same
        way, say how runs scatter."""
        averaged = self._averaged(name)
        lists = {key: levels for key, levels in self.where.items() if isinstance(levels, list)}
        everywhere = self.whole.restricted(lists)
        family = Family(curves(everywhere, name, averaged), self.study.alike)
        return [(family, curve) for curve in curves(self.table, name, averaged)]

    # --- two effects

    def _matters_more(self, more: MattersMore) -> Assessment:
        """Of logarithms a and b of the two ratios: |a| > |b| where a − b and a + b have one
        sign."""
        pairs = self._places_of(more)
        if not pairs:
            nothing = "one of the two has no finished runs in a block with the other"
            return Assessment(Judgement.UNDECIDED, nothing)
        if len(pairs) == 1:
            return comparing.matters_more(self.study, self.response, more, pairs[0], LEVEL)
        found = [
            comparing.matters_more(self.study, self.response, more, pair, LEVEL) for pair in pairs
        ]
        careful = 1 - (1 - LEVEL) / len(pairs)
        against = [
            comparing.matters_more(self.study, self.response, more, pair, careful) for pair in pairs
        ]
        refuted = [at for at, one in enumerate(against) if one.answer is Judgement.NOT_HELD]
        doubtful = [at for at, one in enumerate(found) if one.answer is not Judgement.HELD]
        answer, answers, chosen = Judgement.HELD, found, list(range(len(pairs)))
        if refuted:
            answer, answers, chosen = Judgement.NOT_HELD, against, refuted
        elif doubtful:
            answer, chosen = Judgement.UNDECIDED, doubtful
        where = dict(_elsewhere(pairs[chosen[0]][0], {*more.with_, *more.than}))
        place = Curve(where, (), np.empty(0))
        return self._in_place(answer, answers[chosen[0]], place, len(chosen), len(pairs))

    def _places_of(self, more: MattersMore) -> list[tuple[Curve, Curve]]:
        """The curves of the factor with and without, of the same places otherwise."""
        conditioned = {*more.with_, *more.than}
        averaged = [name for name in self._averaged(more.factor) if name not in conditioned]
        sides = []
        for condition in (more.with_, more.than):
            table = self.table.restricted(condition)
            found = curves(table, more.factor, averaged) if len(table.logs) else []
            sides.append({_elsewhere(curve, conditioned): curve for curve in found})
        with_, than = sides
        return [(with_[place], than[place]) for place in with_ if place in than]

    # --- of all runs

    def _share(self, asked: ShareOf) -> Assessment:
        """On the mean over combinations, or in each of them. It is not held where some are left
        out that print 0: they are not where the others are."""
        found = self._share_of_those_known(asked)
        left_out = self.study.without_number(self.response.column, self.where)
        if not left_out:
            return found
        held = found.answer is Judgement.HELD
        without = f"; without {count(left_out, 'combination')} of which a run has 0"
        answer = Judgement.UNDECIDED if held else found.answer
        return replace(found, answer=answer, evidence=found.evidence + without)

    def _share_of_those_known(self, asked: ShareOf) -> Assessment:
        whole = self.response, self.study.response_of(asked.of)
        if not self.expect.everywhere:
            return comparing.share(self.table, asked, *whole)
        parts = [
            self.table.among(np.arange(len(self.table.codes)) == at)
            for at in range(len(self.table.codes))
        ]
        rows = list(zip(parts, self.table.where, strict=True))
        careful = 1 - (1 - LEVEL) / len(rows)
        plain = [comparing.share(part, asked, *whole) for part in parts]
        against = [comparing.share(part, asked, *whole, careful) for part in parts]
        for answers, wanted in ((against, Judgement.NOT_HELD), (plain, Judgement.UNDECIDED)):
            chosen = [at for at, one in enumerate(answers) if one.answer is wanted]
            if chosen:
                curve = Curve(rows[chosen[0]][1], (), np.empty(0))
                return self._in_place(wanted, answers[chosen[0]], curve, len(chosen), len(rows))
        doubtful = [at for at, one in enumerate(plain) if one.answer is not Judgement.HELD]
        at, answer = (doubtful or [0])[0], Judgement.UNDECIDED if doubtful else Judgement.HELD
        curve = Curve(rows[at][1], (), np.empty(0))
        return self._in_place(answer, plain[at], curve, len(doubtful) or len(rows), len(rows))


def _absent(study: Measured, expect: Expect) -> Iterator[str]:
    """What it names and the study was not run with."""
    levels = {factor.name: factor.levels for factor in study.factors}
    for name, named in expect.named.items():
        known, listed = levels.get(name, ()), expect.where.get(name)
        some = isinstance(listed, list) and any(level in known for level in listed)
        asked = dict.fromkeys(expect.needed.get(name, ()) if some else named)
        yield from (_level(study, name, level) for level in asked if level not in known)


def _level(study: Measured, name: str, level: Any) -> str:
    known = next((factor for factor in study.factors if factor.name == name), None)
    return words.named(known, level) if known else f"{words.spaced(name)} {level}"


def _compared_levels(expect: Expect) -> dict[str, list[Any]]:
    """Of the factor that is looked at, where not all of its levels are."""
    if expect.faster is not None:
        return {expect.faster.factor: [expect.faster.level, expect.faster.than]}
    more = expect.matters_more
    if more is not None and more.level is not None and more.to is not None:
        return {more.factor: [more.level, more.to]}
    return {}


def _elsewhere(curve: Curve, names: set[str]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, level) for name, level in curve.where.items() if name not in names)


def _distance(change: Estimate | None) -> float:
    """How far from 1 a ratio surely is: the least of several is the weakest evidence."""
    if change is None or not change.decided:
        return 0.0
    return abs(float(np.log(change.low if change.low > 1 else change.high)))
