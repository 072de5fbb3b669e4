"""Two studies of the same combinations: what has become faster or slower, and where.

The studies have no blocks in common, so a combination is compared by Welch's test on logarithms.
All of them together are compared by the means of their blocks, which is Welch's test as well. That
a single combination has changed is said only where Holm's correction over all of them allows it,
and chance alone hardly takes any of them so far apart (by_chance.py).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.study.analysis import cells, first_runs, words
from tailrace.study.analysis.by_chance import BLOCKS_AT_LEAST, Runs, by_chance, dealt_out
from tailrace.study.analysis.cautions import is_uneven
from tailrace.study.analysis.expect import Answer, evaluate
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.first_runs import FirstRuns
from tailrace.study.analysis.intervals import UNBOUNDED, Estimate, from_error, holm
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.measured import Measured
from tailrace.units import count

CERTAIN = 0.05
# A change of all combinations together that is surely less than this is none.
STEADY = 0.05
# Logarithms that differ by no more are the same number, but for how it was averaged.
ALIKE = 1e-12

# Of the first study and of the second.
Both = tuple[np.ndarray, np.ndarray]
Known = tuple[FirstRuns, FirstRuns]


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
    factor each."""

    first: Measured
    second: Measured
    overall: Estimate
    by_level: tuple[tuple[str, Any, Estimate], ...]
    combinations: tuple[Changed, ...]
    only_first: int
    only_second: int
    answers: tuple[tuple[Answer, Answer], ...]

    @property
    def headline(self) -> str:
        response = self.first.response.words
        changes = sum(combination.certain for combination in self.combinations)
        changed = f"{changes} of {count(len(self.combinations), 'combination')}"
        span = f"From {label(self.first)} to {label(self.second)}"
        if self.overall.known and self.overall.within(STEADY):
            change = f"within {STEADY * 100:g} %: {words.change(self.overall)}"
            # a few combinations may have changed all the same
            what = f"on the average, {response}" if changes else response
            how = f"{what[:1].upper()}{what[1:]} is the same in both {change}"
        elif self.overall.decided:
            how = f"{span}, {response} {words.becomes(self.overall)}"
        elif self.overall.open:
            unclear = f"whether {response} changes on the average cannot be told"
            how = f"{span}, {unclear} from so few runs"
        else:
            change = f": {words.compared(self.overall)}" if self.overall.blocks else ""
            how = f"{span}, whether {response} changes on the average cannot be told{change}"
        return f"{how}{self._most()}{self._without()}; {changed} changed for certain."

    def _without(self) -> str:
        """Which combinations are in no average."""
        number = sum(combination.ratio.open for combination in self.combinations)
        if not number:
            return ""
        return f" (without {count(number, 'combination')} whose slow runs were ended or failed)"

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
                best = apart, f", most with {words.named(factor, level)}: {words.compared(most)}"
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
    pairs = [Pair(where, Side.of(before, a), Side.of(after, b)) for a, b, where in both]
    if not pairs:
        raise TailraceError(
            "the two studies have no combination in common that was run and finished in both",
            _retyped(first, second)
            or "compare studies of the same factors; what was simulated is not compared",
        )
    chances = by_chance(
        _runs(before, [row for row, *_ in both]), _runs(after, [row for _, row, _ in both])
    )
    known = _of_blocks(before), _of_blocks(after)
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
    )


def _of_blocks(table: Layout) -> FirstRuns:
    """How much longer the first run of a block takes; of targets nothing is asked between studies,
    each of which has its own."""
    return table.first_runs[0] if table.first_runs else first_runs.UNKNOWN


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


class Side(NamedTuple):
    """A combination's runs in one study: logarithms by block, which of them are the first of their
    block, whether the times are the least that they can be, and by how much less and more they may
    be for how they are rounded."""

    logs: np.ndarray
    first: np.ndarray
    bound: bool
    margin: tuple[float, float]

    @classmethod
    def of(cls, table: Layout, row: int) -> "Side":
        logs = table.logs[row]
        first = table.firsts[0][row] if table.firsts else np.zeros(len(logs), dtype=bool)
        below, above = map(float, table.margins[row])
        return cls(logs, first_runs.among(first, logs), bool(table.bounds[row]), (below, above))


class Pair(NamedTuple):
    """A combination's runs in both studies."""

    where: Mapping[str, Any]
    before: Side
    after: Side

    @property
    def bound(self) -> bool:
        return self.before.bound or self.after.bound

    @property
    def margin(self) -> tuple[float, float]:
        (below, above), (less, more) = self.before.margin, self.after.margin
        return less - above, more - below

    def ratio(self, known: Known) -> Estimate:
        firsts = self.before.first, self.after.first
        found = _without_first_runs(welch(self.before.logs, self.after.logs), firsts, known)
        wide = found.widened(*self.margin)
        found = replace(wide, p=found.p if wide.decided else 1.0) if wide is not found else found
        low = 1 / UNBOUNDED if self.before.bound else found.low
        high = UNBOUNDED if self.after.bound else found.high
        surely = not self.bound or not low <= 1 <= high
        return replace(found, low=low, high=high, p=found.p if surely else 1.0)


def _without_first_runs(found: Estimate, firsts: Both, known: Known) -> Estimate:
    """Where slower first runs of blocks, and nothing else, would make such a difference, less what
    they take longer in each study. `firsts`: which runs are, or which share of a block."""
    if not first_runs.alone_part(*firsts):
        return found
    before, after = (float(np.nanmean(first)) for first in firsts)
    some = [one for one, share in zip(known, (before, after), strict=True) if share]
    if not all(one.known for one in some):
        return first_runs.allowed_for(found, 1.0, first_runs.UNKNOWN)
    value = sum(share * one.value for one, share in zip(known, (-before, after), strict=True))
    errors = (share * one.error for one, share in zip(known, (before, after), strict=True) if share)
    longer = FirstRuns(value, math.hypot(*errors), min(one.freedom for one in some))
    return first_runs.allowed_for(found, 1.0, longer)


def welch(first: np.ndarray, second: np.ndarray) -> Estimate:
    """The ratio of the second to the first, from logarithms; NaN is left out. Of two values that
    happen to be alike Welch's test makes too much: beside more of the other study they must also
    pass Student's, which takes both studies to scatter alike."""
    first, second = first[np.isfinite(first)], second[np.isfinite(second)]
    blocks = min(len(first), len(second))
    if not blocks:
        return Estimate(math.nan, math.nan, math.nan, math.nan, 0, 0.0)
    difference = float(second.mean() - first.mean())
    if blocks < 2 or max(np.ptp(first), np.ptp(second)) < ALIKE:
        return Estimate(math.exp(difference), math.nan, math.nan, math.nan, blocks, 0.0)
    tests = [_unlike(first, second)]
    if blocks < BLOCKS_AT_LEAST:
        tests.append(_alike(first, second))
    found = [from_error(difference, error, freedom, blocks) for error, freedom in tests]
    return max(found, key=lambda one: one.p)


def _unlike(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """The standard error of the difference of the means, and its degrees of freedom (Welch and
    Satterthwaite). SciPy's test prints a warning where runs are nearly alike."""
    parts = [float(np.var(side, ddof=1)) / len(side) for side in (first, second)]
    wobble = sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, (first, second), strict=True)
    )
    return math.sqrt(sum(parts)), sum(parts) ** 2 / wobble


def _alike(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """The same where both studies scatter alike (Student)."""
    freedom = len(first) + len(second) - 2
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in (first, second))
    return math.sqrt(squares / freedom * (1 / len(first) + 1 / len(second))), float(freedom)


def _together(pairs: Sequence[Pair], known: Known) -> Estimate:
    """By the means of the blocks that have all these combinations, of those whose times are known;
    where there is none, nothing is known. Where so few runs could be dealt out in few ways, and a
    twentieth of these looks as much like a change, nothing is known either."""
    some = [pair for pair in pairs if not pair.bound]
    if not some:
        return welch(np.empty(0), np.empty(0))
    sides = [pair.before for pair in some], [pair.after for pair in some]
    before, after = (_block_means([side.logs for side in of]) for of in sides)
    firsts = [_block_means([side.first for side in of]) for of in sides]
    found = _without_first_runs(welch(before, after), (firsts[0], firsts[1]), known)
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
