"""Two studies of the same combinations: what has become faster or slower, and where.

The studies have no blocks in common, so a combination is compared by Welch's test on logarithms.
All of them together are compared by the means of their blocks, which is Welch's test as well. That
a single combination has changed is said only where Holm's correction over all of them allows it,
and chance alone hardly takes any of them so far apart (by_chance.py).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.study.analysis import cells, words
from tailrace.study.analysis.by_chance import BLOCKS_AT_LEAST, Runs, by_chance, dealt_out
from tailrace.study.analysis.cautions import is_uneven
from tailrace.study.analysis.expect import Answer, evaluate
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.failures import Unlike, unlike
from tailrace.study.analysis.intervals import UNBOUNDED, Estimate, holm
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.pairs import Known, Pair, Side, longer, welch, without_first_runs
from tailrace.units import count

CERTAIN = 0.05
# A change of all combinations together that is surely less than this is none.
STEADY = 0.05


@dataclass(frozen=True)
class Changed:
    """One combination: the ratio of the second study's response to the first's; `p_holm`: p after
    Holm's correction, or the chance of so large a difference anywhere, whichever is more."""

    where: Mapping[str, Any]
    ratio: Estimate
    p_holm: float

    @property
    def certain(self) -> bool:
        return self.p_holm <= CERTAIN


@dataclass(frozen=True)
class Comparison:
    """`overall`: all combinations that both studies have. `by_level`: the same for the level of one
    factor each. `unlike`: in which of the two more of their runs fail."""

    first: Measured
    second: Measured
    overall: Estimate
    by_level: tuple[tuple[str, Any, Estimate], ...]
    combinations: tuple[Changed, ...]
    only_first: int
    only_second: int
    answers: tuple[tuple[Answer, Answer], ...]
    unlike: Unlike

    @property
    def headline(self) -> str:
        of, response = self.first.response, self.first.response.words
        changes = sum(combination.certain for combination in self.combinations)
        changed = f"{changes} of {count(len(self.combinations), 'combination')}"
        span = f"From {label(self.first)} to {label(self.second)}"
        if self.overall.known and self.overall.within(STEADY):
            change = f"within {STEADY * 100:g} %: {words.change(self.overall)}"
            # a few combinations may have changed all the same
            what = f"on the average, {response}" if changes else response
            how = f"{what[:1].upper()}{what[1:]} {of.verb('is')} the same in both {change}"
        elif self.overall.decided:
            how = f"{span}, {response} {words.becomes(self.overall, of)}"
        elif self.overall.open:
            unclear = f"whether {response} {of.verb('changes')} on the average cannot be told"
            how = f"{span}, {unclear} from so few runs"
        else:
            change = f": {words.compared(self.overall)}" if self.overall.blocks else ""
            unclear = f"whether {response} {of.verb('changes')} on the average cannot be told"
            how = f"{span}, {unclear}{change}"
        return f"{how}{self._most()}{self._without()}; {changed} changed for certain."

    def _without(self) -> str:
        """Which combinations are in no average."""
        number = sum(combination.ratio.open for combination in self.combinations)
        if not number:
            return ""
        which = f"{count(number, 'combination')} whose slow runs were ended or may have failed"
        return f" (without {which})"

    def _most(self) -> str:
        """The level at which the change is surely larger, up or down, than at all others of its
        factor, where there is one."""
        best: tuple[float, str] = (math.log(1 + STEADY), "")
        for factor in self.first.varied:
            levels = [
                (level, change)
                for name, level, change in self.by_level
                if name == factor.name and change.known
            ]
            if len(levels) < 2:
                continue
            *_, (_, next_), (level, most) = sorted(levels, key=lambda pair: _size(pair[1].value))
            apart = _size(most.value) - _size(next_.value)
            if most.decided and apart > best[0] and _least(most) > _most(next_):
                best = apart, f", most {words.under(factor, level)}: {words.compared(most)}"
        return best[1]


def _size(ratio: float) -> float:
    return abs(math.log(ratio))


def _least(change: Estimate) -> float:
    """How large it is at least, of one that is surely not 1."""
    return min(_size(change.low), _size(change.high))


def _most(change: Estimate) -> float:
    return max(_size(change.low), _size(change.high))


def label(study: Measured) -> str:
    return printable(str(study.plan.get("directory") or study.plan["name"]))


def compare(first: Measured, second: Measured) -> Comparison:
    """Raises TailraceError where the two have no combination or no response in common."""
    first, second = first.only_run, second.only_run
    before, after = _tables(first, second)
    places = {tuple(where.items()): row for row, where in enumerate(after.where)}
    rows = [
        (row, places.get(tuple(where.items())), where) for row, where in enumerate(before.where)
    ]
    both = [(a, b, where) for a, b, where in rows if b is not None]
    if not both:
        raise TailraceError(
            "the two studies have no combination in common that was run and finished in both",
            _retyped(first, second)
            or "compare studies of the same factors; what was simulated is not compared",
        )
    thinned = _unlike(first, second, [where for *_, where in both])
    pairs = [
        Pair(where, Side.of(before, a, bool(thin[0])), Side.of(after, b, bool(thin[1])))
        for (a, b, where), thin in zip(both, thinned.sides, strict=True)
    ]
    chances = by_chance(
        _runs(before, [row for row, *_ in both]), _runs(after, [row for _, row, _ in both])
    )
    known = longer(before), longer(after)
    claimed = {answer.claim: answer for answer in evaluate(second)}
    return Comparison(
        first,
        second,
        _together(pairs, known),
        tuple(_by_level(first.varied, pairs, known)),
        tuple(_each(pairs, known, chances)),
        len(first.table(first.response).logs) - len(pairs),
        len(second.table(second.response).logs) - len(pairs),
        tuple(
            (answer, claimed[answer.claim]) for answer in evaluate(first) if answer.claim in claimed
        ),
        thinned,
    )


def _unlike(first: Measured, second: Measured, places: Sequence[Mapping[str, Any]]) -> Unlike:
    """In which of the two more runs of these combinations fail."""
    names, counts = list(places[0]), np.zeros((len(places), 2, 2), dtype=int)
    row = {tuple(where.values()): number for number, where in enumerate(places)}
    for study, side in enumerate((first, second)):
        lost = side.lost(side.response.column).tolist()
        for levels, bad in zip(side.runs[names].itertuples(index=False), lost, strict=True):
            if (at := row.get(tuple(levels))) is not None:
                counts[at, study] += bad, 1
    levels = [list(dict.fromkeys(where[name] for where in places)) for name in names]
    codes = [
        [known.index(where[name]) for name, known in zip(names, levels, strict=True)]
        for where in places
    ]
    return unlike(np.array(codes, dtype=int).reshape(len(places), -1), counts)


def _tables(first: Measured, second: Measured) -> tuple[Layout, Layout]:
    """Both with the levels that both have; `codes` of the two are not comparable, levels are."""
    if first.response.column != second.response.column:
        raise TailraceError(
            "the studies' responses differ: "
            + " and ".join(printable(study.response.column) for study in (first, second)),
            "compare studies of one response",
        )
    if first.response.unit != second.response.unit:
        units = [printable(study.response.unit) or "no unit" for study in (first, second)]
        raise TailraceError(
            f"the two studies have {printable(first.response.column)} in different units:"
            f" {' and '.join(units)}",
            "compare studies whose programs print it in one unit",
        )
    varied = [{factor.name for factor in study.varied} for study in (first, second)]
    if extra := sorted(n for n in varied[0] ^ varied[1] if not _in_both(first, second, n)):
        raise TailraceError(
            f"only one of the two studies varies {', '.join(map(printable, extra))}, and the other"
            " has none of its levels",
            _renamed(first, second) or "compare studies of the same factors",
        )
    names = varied[0] | varied[1]
    return _common(first, names), _common(second, names)


def _renamed(first: Measured, second: Measured) -> str:
    """What to do where one of them seems to call a factor by another name."""
    known = {factor.name for factor in first.factors} & {factor.name for factor in second.factors}
    for one in first.varied:
        for other in second.varied:
            if not {one.name, other.name} & known and set(one.levels) == set(other.levels):
                names = f"{printable(one.name)} and {printable(other.name)}"
                return f"{names} have the same levels: if they are one factor, give it one name"
    return ""


def _retyped(first: Measured, second: Measured) -> str:
    """What to do where one of them has texts that look like the other's numbers."""
    for one in first.varied:
        for other in second.varied:
            texts = [set(map(str, factor.levels)) for factor in (one, other)]
            same = one.name == other.name and texts[0] & texts[1]
            if same and not set(one.levels) & set(other.levels):
                return (
                    f"the levels of {printable(one.name)} are numbers in one study and texts in"
                    " the other: write them alike"
                )
    return ""


def _in_both(first: Measured, second: Measured, name: str) -> bool:
    """Whether some level of a factor is, be it the only one that one of the two has."""
    levels = [
        {level for factor in study.factors if factor.name == name for level in factor.levels}
        for study in (first, second)
    ]
    return bool(levels[0] & levels[1])


def _common(study: Measured, names: set[str]) -> Layout:
    """Without the factors of which both have one level, which need not agree."""
    table = study.compared(study.response, alone=False)
    order = [
        index for index, factor in sorted(enumerate(table.factors), key=lambda pair: pair[1].name)
    ]
    kept = [index for index in order if table.factors[index].name in names]
    return replace(table, factors=tuple(table.factors[i] for i in kept), codes=table.codes[:, kept])


def _together(pairs: Sequence[Pair], known: Known) -> Estimate:
    """By the means of the blocks that have all these combinations, of those whose times are known;
    where there is none, nothing is known. Where so few runs could be dealt out in few ways, and a
    twentieth of these looks as much like a change, nothing is known either."""
    some = [pair for pair in pairs if not pair.bound]
    if not some:
        return welch(np.empty(0), np.empty(0))
    sides = [pair.before for pair in some], [pair.after for pair in some]
    before, after = (_block_means([side.logs for side in of]) for of in sides)
    firsts, later = (
        tuple(map(_block_means, zip(*(side.firsts for side in of), strict=True))) for of in sides
    )
    found = without_first_runs(welch(before, after), firsts, later, known)
    below, above = np.mean([pair.margin for pair in some], axis=0)
    found = found.widened(float(below), float(above))
    if found.decided and min(len(before), len(after)) < BLOCKS_AT_LEAST:
        chance = dealt_out([(pair.before.logs, pair.after.logs) for pair in some])
        if chance > CERTAIN:
            return replace(found, low=1 / UNBOUNDED, high=UNBOUNDED, p=chance)
    return found


def _block_means(rows: Sequence[np.ndarray]) -> np.ndarray:
    """A gap is filled with its combination's mean and the block's own deviation: one failed run
    must not cost a block. Blocks of which less than half ran are left out.
    """
    logs = np.array(rows)
    centred = logs - np.nanmean(logs, axis=1, keepdims=True)
    enough = np.isfinite(logs).mean(axis=0) >= 0.5
    return np.nanmean(logs, axis=1).mean() + np.nanmean(centred[:, enough], axis=0)


def _by_level(
    factors: Sequence[StudyFactor], pairs: Sequence[Pair], known: Known
) -> list[tuple[str, Any, Estimate]]:
    answer = []
    for factor in factors:
        for level in factor.levels:
            some = [pair for pair in pairs if pair.where[factor.name] == level]
            if some:
                answer.append((factor.name, level, _together(some, known)))
    return answer


def _runs(table: Layout, rows: Sequence[int]) -> Runs:
    """As they scatter with the factors that surely make them scatter differently: what a fit to all
    of them says is far off where runs have two modes."""
    uneven = [at for at, factor in enumerate(table.factors) if is_uneven(table, factor)]
    factors = [table.factors[at] for at in uneven]
    relative = cells.spread(factors, table.codes[:, uneven], table.logs).relative
    return Runs(table.logs[rows], relative[rows])


def _each(pairs: Sequence[Pair], known: Known, chances: Sequence[float]) -> list[Changed]:
    """`chances`: that one differs so much where nothing has changed."""
    ratios = [pair.ratio(known) for pair in pairs]
    p = np.array([ratio.p if math.isfinite(ratio.p) else 1.0 for ratio in ratios])
    return [
        Changed(pair.where, ratio, max(float(corrected), chance))
        for pair, ratio, corrected, chance in zip(pairs, ratios, holm(p), chances, strict=True)
    ]


def as_json(found: Comparison) -> dict[str, Any]:
    """docs/schema/study-comparison.json."""
    return {
        "schema": 1,
        "first": label(found.first),
        "second": label(found.second),
        "response": found.first.response.column,
        "headline": found.headline,
        "overall": found.overall.numbers(),
        "by_level": [
            {"factor": name, "level": level, "ratio": change.numbers()}
            for name, level, change in found.by_level
        ],
        "combinations": [
            {
                "levels": dict(combination.where),
                "ratio": combination.ratio.numbers(),
                "p_holm": combination.p_holm,
                "changed": combination.certain,
            }
            for combination in found.combinations
        ],
        "only_in_first": found.only_first,
        "only_in_second": found.only_second,
        "expect": [
            {"claim": a.claim, "first": a.answer, "second": b.answer} for a, b in found.answers
        ],
    }
