"""What a reader must know before trusting the numbers: outliers, drift, unequal scatter, too few
runs, failed runs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from tailrace.study.analysis.factors import RANK_KINDS, StudyFactor
from tailrace.study.analysis.first_runs import FirstRuns
from tailrace.study.analysis.grammar import agreeing, is_plural
from tailrace.study.analysis.intervals import LEVEL
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.responses import Response
from tailrace.study.analysis.words import joined, p_value, signed, spaced, under
from tailrace.units import count

# Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993): modified z scores beyond 3.5 are
# outliers. Of many runs some lie that far by chance, so the score rises until only one study in a
# hundred has one.
OUTLIER_SCORE, OUTLIER_RATE = 3.5, 0.01
NORMAL_MAD = 0.6745
# A scatter below this share is no outlier in practice, however quiet the rest of the study.
OUTLIER_LEAST = 0.05
CERTAIN = 0.001
DRIFT_LEAST = 0.01
REPETITIONS_LEAST = 3
# The logarithm of a ratio of first runs to others that is worth a word.
FIRST_RUNS_LEAST = 0.05
# The half-width of an interval, relative to its median, beyond which single combinations say
# little.
WIDE = 0.25
# One process that is always ready to run.
BUSY_LOAD = 1.0


@dataclass(frozen=True)
class Caution:
    """`kind` is a word for programs, `text` a sentence, `hint` what to do about it; `runs` are
    those concerned."""

    kind: str
    text: str
    hint: str = ""
    runs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Drift:
    """Change of the response over the study, beyond what the combinations explain.

    `change`: ratio of the last run's expectation to the first's, with its interval (Theil and Sen's
    slope).
    """

    change: float
    low: float
    high: float
    p: float

    @property
    def certain(self) -> bool:
        return self.p <= CERTAIN and abs(self.change - 1) >= DRIFT_LEAST


def residuals(runs: pd.DataFrame, factors: list[StudyFactor], column: str) -> pd.Series:
    """Logarithms less the mean of their combination, of those that have at least three runs, scaled
    so that taking a mean out of few does not make them look quieter than they are.
    """
    usable = runs[pd.to_numeric(runs[column], errors="coerce") > 0]
    logs = np.log(usable[column].astype(float))
    groups = logs.groupby(
        [usable[factor.name].to_numpy() for factor in factors] or [0] * len(logs), sort=False
    )
    sizes = groups.transform("size")
    answer = (logs - groups.transform("mean")) * np.sqrt(sizes / np.maximum(sizes - 1, 1))
    return answer[sizes >= REPETITIONS_LEAST]


def drift(runs: pd.DataFrame, left: pd.Series) -> Drift | None:
    """Kendall's test of the residuals against the order of runs, and the slope by Theil and Sen."""
    if len(left) < 10:
        return None
    order = runs.loc[left.index, "order"].to_numpy(dtype=float)
    values = left.to_numpy()
    if len(values) > 2000:  # Theil and Sen look at all pairs
        chosen = np.linspace(0, len(values) - 1, 2000).astype(int)
        chosen = np.argsort(order)[chosen]
        order, values = order[chosen], values[chosen]
    slope, _, low, high = stats.theilslopes(values, order, alpha=LEVEL)
    length = order.max() - order.min()
    p = float(stats.kendalltau(order, values).pvalue)
    if not math.isfinite(p):
        return None
    change, least, most = (math.exp(value * length) for value in (slope, low, high))
    return Drift(change, least, most, p)


def distances(table: Layout) -> np.ndarray:
    """Combinations × blocks: each logarithm less the median of the others of its combination; NaN
    where there are too few."""
    answer = np.full(table.logs.shape, np.nan)
    enough = np.isfinite(table.logs).sum(axis=1) >= REPETITIONS_LEAST
    for block in range(table.logs.shape[1]):
        others = np.delete(table.logs[enough], block, axis=1)
        answer[enough, block] = table.logs[enough, block] - np.nanmedian(others, axis=1)
    return answer


def outliers(table: Layout) -> list[tuple[int, float]]:
    """Runs that lie too far off by the modified z score, the farthest first, with their distance.
    At most one of each combination: where one lies far off, so do the others from it.
    """
    away = distances(table)
    known = np.abs(away[np.isfinite(away)])
    if table.runs is None or not known.size or np.median(known) == 0:
        return []
    limit = (
        max(OUTLIER_SCORE, float(stats.norm.isf(OUTLIER_RATE / 2 / known.size)))
        / NORMAL_MAD
        * np.median(known)
    )
    rows = np.flatnonzero(np.isfinite(away).any(axis=1))
    farthest = np.nanargmax(np.abs(away[rows]), axis=1)
    found = [
        (int(table.runs[row, at]), float(away[row, at]))
        for row, at in zip(rows, farthest, strict=True)
    ]
    far = [(run, away) for run, away in found if abs(away) > max(limit, OUTLIER_LEAST)]
    return sorted(far, key=lambda pair: -abs(pair[1]))


def unequal_variances(table: Layout, factor: StudyFactor) -> tuple[float, float, Any, Any] | None:
    """p of Levene's test (Brown and Forsythe's, by medians) between the levels of a factor of the
    scatter within combinations; the ratio of the largest to the smallest standard deviation, and at
    which levels they are.
    """
    centred = table.logs - np.nanmedian(table.logs, axis=1, keepdims=True)
    codes = table.codes[:, table.position(factor.name)]
    groups = {code: centred[codes == code] for code in np.unique(codes)}
    samples = {code: group[np.isfinite(group)] for code, group in groups.items()}
    samples = {
        code: values for code, values in samples.items() if len(values) > 5 and np.any(values != 0)
    }
    if len(samples) < 2:
        return None
    p = float(stats.levene(*samples.values(), center="mean").pvalue)
    scatter = {code: float(np.std(values)) for code, values in samples.items()}
    most, least = max(scatter, key=scatter.__getitem__), min(scatter, key=scatter.__getitem__)
    return p, scatter[most] / scatter[least], factor.levels[most], factor.levels[least]


def is_uneven(table: Layout, factor: StudyFactor) -> bool:
    """Whether runs surely scatter differently at its levels."""
    test = unequal_variances(table, factor)
    return test is not None and test[0] <= CERTAIN


def order_follows(runs: pd.DataFrame, factor: StudyFactor) -> float:
    """p of the hypothesis that the levels of a factor were run in random order (Kruskal and
    Wallis)."""
    groups = [
        group["order"].to_numpy(dtype=float)
        for _, group in runs.groupby(factor.name, observed=True)
    ]
    groups = [group for group in groups if len(group)]
    return float(stats.kruskal(*groups).pvalue) if len(groups) > 1 else 1.0


def cautions(
    runs: pd.DataFrame, factors: list[StudyFactor], response: Response, table: Layout, planned: int
) -> list[Caution]:
    """Of one response; `runs` are the finished ones, `planned` is the number of combinations in the
    design."""
    left, words = residuals(runs, factors, response.column), response.words
    found = [
        _few(runs, factors, response, planned),
        _wide(table, words),
        _order(runs, factors),
        _drift(runs, left, words),
    ]
    found += [_outliers(table, words), _unequal(table, factors, words)]
    return [caution for caution in found if caution is not None]


def _few(
    runs: pd.DataFrame, factors: list[StudyFactor], response: Response, planned: int
) -> Caution | None:
    """A number of 0 is one, though it has no ratio."""
    measured = runs[runs[response.column].notna()]
    names = [factor.name for factor in factors]
    counts = measured.groupby(names).size() if names else np.array([len(measured)])
    few = planned - int(np.sum(counts >= REPETITIONS_LEAST))
    if not few:
        return None
    return Caution(
        "too few runs",
        f"{few} of {count(planned, 'combination')} {'has' if few == 1 else 'have'} fewer than"
        f" {REPETITIONS_LEAST}"
        " finished runs",
        "restart the study to make the missing runs, --redo RUN those that failed, or set"
        " repetitions = 3 or more in the study file",
    )


def _wide(table: Layout, words: str) -> Caution | None:
    """Where a combination's own interval is so wide that only comparisons over several of them say
    something."""
    counts = np.isfinite(table.logs).sum(axis=1)
    usable = table.logs[counts >= 2]
    if not len(usable):
        return None
    freedom = counts[counts >= 2] - 1
    half = (
        stats.t.ppf(0.5 + LEVEL / 2, freedom)
        * np.nanstd(usable, axis=1, ddof=1)
        / np.sqrt(freedom + 1)
    )
    wide = int(np.sum(np.expm1(half) > WIDE))
    if not wide:
        return None
    return Caution(
        "wide intervals",
        f"the {words} of {wide} of {count(len(counts), 'combination')}"
        f" {agreeing('is', is_plural(words))} known to no better"
        f" than {WIDE * 100:g} %"
        f" from {'its' if wide == 1 else 'their'} own runs",
        "more repetitions, or [adaptive] interval = 0.1, narrow them",
    )


def rebuilt(runs: pd.DataFrame, factors: Sequence[str]) -> Caution | None:
    """Where the program was another one in some of the runs. A level may name a program, by chance
    even (`sync`): nothing is said where the levels tell which it was."""
    if "program" not in runs:
        return None
    marks = runs["program"].replace("", None).dropna()
    if marks.nunique() < 2 or _follow(marks, runs.loc[marks.index], factors):
        return None
    several = joined([f"{number} of {mark}" for mark, number in marks.value_counts().items()])
    others = runs.loc[marks[marks != marks.mode().iloc[0]].index, "run"]
    return Caution(
        "program has changed",
        f"the runs are not all of one program ({several}): its files changed between them",
        "`tailrace study run DIR --redo RUN` makes a run again; the column `program` says which",
        tuple(int(run) for run in others),
    )


def _follow(marks: pd.Series, runs: pd.DataFrame, factors: Sequence[str]) -> bool:
    """Whether levels tell the marks: those of one factor, or of all, where each was
    run again."""
    ways = [[name] for name in factors] + ([list(factors)] if factors else [])
    found = [marks.groupby([runs[name] for name in way]) for way in ways]
    repeated = [one for one in found if len(runs) >= 2 * one.ngroups]
    return any((one.nunique() == 1).all() for one in repeated)


def bounded(table: Layout, limit_s: float, words: str) -> Caution | None:
    """Where runs were ended before they were over."""
    if table.censored is None or not table.censored.any():
        return None
    number = int(table.censored.sum())
    counts = "counts" if number == 1 else "count"
    return Caution(
        "runs that were ended",
        f"{count(number, 'run')} that did not end in {limit_s:g} s {counts} as {limit_s:g} s of"
        f" {words}, and took longer: ratios are at least, or at most, what is said",
        "a longer run.time_limit_s lets them end",
    )


def rounded(table: Layout, words: str) -> Caution | None:
    """Where times are printed in steps that runs do not scatter over."""
    number = int(np.sum(table.margins.any(axis=1) & ~table.simulated)) if table.step else 0
    if not number:
        return None
    return Caution(
        "coarse clock",
        f"{words} is printed in steps of {table.step:g} s; of {count(number, 'combination')} all"
        " runs lie within one step, and it is known to half a step and no better",
        "print more digits, or let the runs take longer",
    )


def one_order() -> Caution:
    """Of a study whose blocks all have the same."""
    return _not_random(
        "all blocks ran their combinations in the same order: a change over the time of a block"
        " cannot be told from what a combination does"
    )


def _not_random(text: str) -> Caution:
    hint = "`tailrace study run` randomises the order within blocks"
    return Caution("order not random", text, hint)


def first_runs(ways: Sequence[FirstRuns], words: str, opened: str) -> Caution | None:
    """`opened`: what went first so often that what it does cannot be told from that. `ways`: of the
    first run of a block, and of the first on a target."""
    hint = (
        "`warm_up = 1` in the study file makes a run before each block that nobody looks at; more"
        " repetitions tell the two apart"
    )
    if opened:
        return Caution("first runs of blocks", f"{opened}: the two cannot be told apart", hint)
    sure = [way for way, known in enumerate(ways) if _is_notable(known)]
    if not sure:
        return None
    way = max(sure, key=lambda at: abs(ways[at].value) / max(ways[at].error, 1e-300))
    known, of = ways[way], " on its target" if way else ""
    value, least, most = (math.exp(one) for one in (known.value, *known.ends()))
    then = "comparisons are without that" if known.is_sure else "this widens intervals"
    return Caution(
        "first runs of blocks",
        f"the first run of a block{of} has {value:.2f} times ({least:.2f} to {most:.2f}) the"
        f" {words} of the same run later in a block; {then}",
        hint,
    )


def _is_notable(known: FirstRuns) -> bool:
    low, high = known.ends() if known.known else (0.0, 0.0)
    return known.p <= CERTAIN and min(abs(low), abs(high)) >= FIRST_RUNS_LEAST


def busy(environment: Mapping[str, Any]) -> Caution | None:
    """Where something else ran when the study began."""
    load = environment.get("load_average") or [0.0]
    if load[0] < BUSY_LOAD:
        return None
    return Caution(
        "busy machine",
        "the machine was busy with something else when the study began (load average"
        f" {load[0]:.1f} on"
        f" {count(int(environment.get('cores') or 1), 'core')})",
        "repeat it on an idle machine: random order keeps this out of comparisons, but not out"
        " of times",
    )


def side_by_side(blocks_at_once: int) -> Caution | None:
    """Where runs had neighbours."""
    if blocks_at_once < 2:
        return None
    return Caution(
        "runs side by side",
        f"{blocks_at_once} blocks ran side by side, and their runs disturbed each other",
        "use blocks_at_once = 1 to measure times; more only where the numbers that programs"
        " print matter",
    )


def crowded(runs: pd.DataFrame, factors: list[StudyFactor], cores: int) -> Caution | None:
    """Where ranks shared cores, times are not those of as many cores."""
    ranks = next((factor for factor in factors if factor.kind in RANK_KINDS), None)
    if ranks is None or not cores:
        return None
    many = [level for level in ranks.levels if level > cores and (runs[ranks.name] == level).any()]
    if not many:
        return None
    crowd = f"{joined([str(level) for level in many])} {spaced(ranks.name)}"
    return Caution(
        "more ranks than cores",
        f"with {crowd} on {count(cores, 'core')}, ranks share cores: times"
        " are those of an overloaded machine, and computation cannot speed up",
        "compare what was written and read, or run on more cores",
    )


def _order(runs: pd.DataFrame, factors: list[StudyFactor]) -> Caution | None:
    for factor in factors:
        if order_follows(runs, factor) <= CERTAIN:
            return _not_random(
                f"the levels of {factor.name} were not run in random order: a change over"
                f" time cannot be told from the effect of {factor.name}"
            )
    return None


def _drift(runs: pd.DataFrame, left: pd.Series, words: str) -> Caution | None:
    found = drift(runs, left)
    if found is None or not found.certain:
        return None
    return Caution(
        "drift",
        f"{words} drifted by {signed(found.change)} % from the first run to the last"
        f" ({signed(found.low)} to"
        f" {signed(found.high)} %, {p_value(found.p)}); comparisons are made within blocks in"
        " random order, so it"
        " widens intervals and does not shift them",
        "check for other programs, a throttled processor, or a disk that filled up",
    )


def _outliers(table: Layout, words: str) -> Caution | None:
    found = outliers(table)
    if not found:
        return None
    numbers = tuple(number for number, _ in found)
    several, shown = len(numbers) > 1, [str(number) for number in numbers[:5]]
    runs = f"{', '.join(shown)}, …" if len(numbers) > 5 else joined(shown)
    return Caution(
        "outliers",
        f"{count(len(numbers), 'run')} of {int(np.isfinite(table.logs).sum())}"
        f" {'lie' if several else 'lies'} far from the others of the same combination"
        f" (run{'s' if several else ''} {runs}); {'the farthest' if several else 'it'} has"
        f" {math.exp(found[0][1]):.2f} times their median {words}",
        f"{'they are' if several else 'it is'} included in all numbers; runs/ shows what happened",
        numbers,
    )


def _unequal(table: Layout, factors: list[StudyFactor], words: str) -> Caution | None:
    tests = [(unequal_variances(table, factor), factor) for factor in factors]
    certain = [
        (test, factor) for test, factor in tests if test and test[0] <= CERTAIN and test[1] > 2
    ]
    if not certain:
        return None
    (p, ratio, most, least), factor = min(certain, key=lambda pair: pair[0][0])
    return Caution(
        "unequal variances",
        f"{words} scatters {ratio:.1f} times as much {under(factor, most)} as"
        f" {under(factor, least)} ({p_value(p)});"
        " intervals do not assume that it scatters alike",
    )
