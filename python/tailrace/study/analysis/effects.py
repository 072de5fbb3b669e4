"""Which factors and which interactions of two matter, and by how much.

A linear model on logarithms (main effects and interactions of two) is fitted in every block on its
own; how its coefficients differ between blocks is the error of each effect. That is the analysis of
variance of a randomised complete block design with an error of its own for each effect: neither
what a block has in common nor what makes one block favour a level is taken for an effect.

Whether a factor matters is decided by a randomisation test: levels are exchanged at random among
the runs of one block that differ in nothing else. It assumes nothing of the scatter, only that the
order of runs was random, which it was. Of an interaction there is no exact such test; there it is
F, as it is of responses that are not the study's main one. p values are Holm's over all effects of
the response: the chance that a study without any effect is said to have one is at most 5 %. A
factor must also pass F, uncorrected: a file system that was slow during one block only differs
within that block, and not in general.

Sizes are ratios between the two levels that differ most, with Scheffé's interval, which allows for
having chosen them; of two levels it is Student's. Of an interaction it is the ratio of two such
ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from scipy import linalg, stats

from tailrace.study.analysis.intervals import LEVEL, Estimate, exponential, holm
from tailrace.study.analysis.layout import Layout

ERROR_RATE = 0.05
RESAMPLES, RESAMPLES_LEAST = 9999, 499
# So many for each effect that is tested: the smallest p that there can be must survive Holm's
# correction over them.
RESAMPLES_PER_EFFECT = 60
# Random numbers that one randomisation test may draw: it then takes about a second.
DRAWS_AT_MOST = 4_000_000
BATCH_DRAWS = 1_000_000
SHOWN_LEVELS = 60
# An interaction of more coefficients is not looked at: nobody reads it, and fitting it takes
# minutes.
COEFFICIENTS_AT_MOST = 500


@dataclass(frozen=True)
class Effect:
    """A factor, or two. `p` is that of F, `p_holm` of the test that counts, corrected.

    `high` and `low` are the levels that differ most: of each factor, numbers of levels. `size` is
    the ratio of the response at `high` to that at `low`; of an interaction, that ratio of the first
    factor at the second's `high` over the same at its `low`. `share` is that of the variation of
    the logarithms in the study.
    """

    factors: tuple[str, ...]
    freedom: int
    f: float
    error_freedom: float
    p: float
    p_holm: float
    p_randomisation: float | None
    size: Estimate
    high: tuple[int, ...]
    low: tuple[int, ...]
    share: float

    @property
    def matters(self) -> bool:
        return self.p_holm <= ERROR_RATE and self.p <= ERROR_RATE

    @property
    def test(self) -> str:
        return "F" if self.p_randomisation is None else "randomisation"


@dataclass(frozen=True)
class Analysis:
    """All effects of one response, the largest share first, and of how much of the study they
    are."""

    effects: tuple[Effect, ...]
    combinations: int
    combinations_all: int
    blocks: int
    not_estimable: tuple[tuple[str, ...], ...] = ()

    def find(self, *names: str) -> Effect | None:
        return next((effect for effect in self.effects if set(effect.factors) == set(names)), None)


@dataclass(frozen=True)
class _Term:
    """Columns of the model that belong together, and the codings they came from (levels × columns
    each)."""

    positions: tuple[int, ...]
    columns: np.ndarray
    codings: tuple[np.ndarray, ...]
    levels: tuple[np.ndarray, ...]


def analyse(table: Layout, resamples: int = 0, seed: int = 0) -> Analysis:
    """All main effects and interactions of two; `resamples` of a randomisation test at most, 0 for
    none.

    Needs two complete blocks; without, there are no effects.
    """
    whole = complete(table)
    combinations, blocks = whole.logs.shape
    if blocks < 2 or combinations < 2:
        return Analysis((), combinations, len(table.logs), blocks)
    terms, left_out = _terms(whole)
    found = _fit(whole, terms)
    if resamples:
        least = max(RESAMPLES_LEAST, RESAMPLES_PER_EFFECT * len(found))
        found = [
            replace(
                effect,
                p_randomisation=_randomised(whole, effect.factors, seed, range(least, resamples)),
            )
            for effect in found
        ]
    corrected = holm(
        [effect.p if effect.p_randomisation is None else effect.p_randomisation for effect in found]
    )
    found = [replace(effect, p_holm=float(p)) for effect, p in zip(found, corrected, strict=True)]
    names = tuple(tuple(whole.factors[index].name for index in positions) for positions in left_out)
    return Analysis(
        tuple(sorted(found, key=lambda effect: -effect.share)),
        combinations,
        len(table.logs),
        blocks,
        names,
    )


def complete(table: Layout) -> Layout:
    """The largest part without gaps that is found by leaving out, one by one, the block or the
    combination with the largest share of missing runs.
    """
    codes, logs = table.codes, table.logs
    while logs.size and np.isnan(logs).any():
        missing = np.isnan(logs)
        combinations, blocks = missing.mean(axis=1), missing.mean(axis=0)
        if blocks.max() >= combinations.max():
            logs = np.delete(logs, int(blocks.argmax()), axis=1)
        else:
            keep = np.arange(len(logs)) != int(combinations.argmax())
            codes, logs = codes[keep], logs[keep]
    return Layout(table.factors, codes, logs)


def _terms(table: Layout) -> tuple[list[_Term], list[tuple[int, ...]]]:
    """The model's terms; an interaction that the combinations left out keep from being told apart
    is left out too, as is one of too many levels.
    """
    shape = table.codes.shape
    return _terms_of(np.ascontiguousarray(table.codes, dtype=np.int64).tobytes(), shape)


@lru_cache(maxsize=8)  # the responses of a study have the same combinations
def _terms_of(codes: bytes, shape: tuple[int, int]) -> tuple[list[_Term], list[tuple[int, ...]]]:
    table = np.frombuffer(codes, dtype=np.int64).reshape(shape)
    varied = [index for index, column in enumerate(table.T) if len(np.unique(column)) > 1]
    basis = np.full((shape[0], 1), 1 / math.sqrt(shape[0]))
    terms: list[_Term] = []
    left_out: list[tuple[int, ...]] = []
    for positions in (*((position,) for position in varied), *combinations(varied, 2)):
        term = _term(table, positions)
        new = _independent(basis, term.columns)
        if new is None:
            left_out.append(positions)
        else:
            basis = np.hstack([basis, new])
            terms.append(term)
    return terms, left_out


def _independent(basis: np.ndarray, columns: np.ndarray) -> np.ndarray | None:
    """Orthonormal directions that the columns add to the basis; None where they add fewer than
    there are columns, or are too many.
    """
    if basis.shape[1] + columns.shape[1] > len(basis) or columns.shape[1] > COEFFICIENTS_AT_MOST:
        return None
    rest = columns - basis @ (basis.T @ columns)
    left, values, _ = linalg.svd(rest, full_matrices=False)
    return left if values[-1] > 1e-8 * math.sqrt(len(basis)) else None


def _term(combinations: np.ndarray, positions: tuple[int, ...]) -> _Term:
    """Sum-to-zero coding; an interaction's columns are the products of its factors' columns."""
    codings, levels, parts = [], [], []
    for position in positions:
        present, row = np.unique(combinations[:, position], return_inverse=True)
        coding = np.vstack([np.eye(len(present) - 1), -np.ones(len(present) - 1)])
        codings.append(coding)
        levels.append(present)
        parts.append(coding[row.reshape(-1)])
    columns = parts[0]
    for part in parts[1:]:
        columns = (columns[:, :, None] * part[:, None, :]).reshape(len(columns), -1)
    return _Term(positions, columns, tuple(codings), tuple(levels))


def _fit(table: Layout, terms: list[_Term]) -> list[Effect]:
    design = np.hstack([np.ones((len(table.logs), 1)), *(term.columns for term in terms)])
    solve = linalg.pinv(design)
    ends = np.cumsum([1, *(term.columns.shape[1] for term in terms)])
    rows = [solve[begin:end] for begin, end in pairwise(ends)]
    fits = [_Fit(term, own, table.logs) for term, own in zip(terms, rows, strict=True)]
    total = float(np.sum((table.logs - table.logs.mean()) ** 2))
    return [fit.effect(total, table) for fit in fits]


class _Fit:
    """One effect: its coefficients in each block, made equally uncertain and uncorrelated, and
    their error."""

    def __init__(self, term: _Term, solve: np.ndarray, logs: np.ndarray) -> None:
        self.term = term
        self.blocks = logs.shape[1]
        self.columns = len(solve)
        self.covariance = solve @ solve.T
        coefficients = solve @ logs
        self.mean = coefficients.mean(axis=1)
        white = linalg.solve_triangular(
            linalg.cholesky(self.covariance, lower=True), coefficients, lower=True
        )
        centre = white.mean(axis=1, keepdims=True)
        self.between = float(self.blocks * np.sum(centre**2) / self.columns)
        self.error_freedom = self.columns * (self.blocks - 1)
        self.error = float(np.sum((white - centre) ** 2) / self.error_freedom)

    def effect(self, total: float, table: Layout) -> Effect:
        ratio = _over(self.between, self.error)
        p = float(stats.f.sf(ratio, self.columns, self.error_freedom))
        size, high, low = self._largest(p)
        explained = (
            self.blocks * float(np.sum((self.term.columns @ self.mean) ** 2))
            - self.columns * self.error
        )
        return Effect(
            factors=tuple(table.factors[position].name for position in self.term.positions),
            freedom=self.columns,
            f=ratio,
            error_freedom=self.error_freedom,
            p=p,
            p_holm=math.nan,
            p_randomisation=None,
            size=size,
            high=tuple(int(of[at]) for of, at in zip(self.term.levels, high, strict=True)),
            low=tuple(int(of[at]) for of, at in zip(self.term.levels, low, strict=True)),
            share=max(0.0, _over(explained, total)) if total > 0 else 0.0,
        )

    def _largest(self, p: float) -> tuple[Estimate, tuple[int, ...], tuple[int, ...]]:
        """The ratio between the levels that differ most, with Scheffé's interval."""
        high, low = self._extremes()
        rows = [
            coding[i] - coding[j] for coding, i, j in zip(self.term.codings, high, low, strict=True)
        ]
        weights = rows[0]
        for row in rows[1:]:
            weights = np.outer(weights, row).reshape(-1)
        value = float(weights @ self.mean)
        half = math.sqrt(float(weights @ self.covariance @ weights) * self.error / self.blocks)
        half *= math.sqrt(
            self.columns * float(stats.f.ppf(LEVEL, self.columns, self.error_freedom))
        )
        size = Estimate(
            exponential(value),
            exponential(value - half),
            exponential(value + half),
            p,
            self.blocks,
            self.error_freedom,
        )
        return size, high, low

    def _extremes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Numbers of the present levels between which the fitted effect is largest; the ratio is
        above 1."""
        if len(self.term.codings) == 1:
            effect = self.term.codings[0] @ self.mean
            return (int(effect.argmax()),), (int(effect.argmin()),)
        first, second = self.term.codings
        grid = first @ self.mean.reshape(first.shape[1], second.shape[1]) @ second.T
        best = max(_widest(grid), key=lambda pair: pair[0])
        return best[1], best[2]


def _widest(grid: np.ndarray) -> list[tuple[float, tuple[int, int], tuple[int, int]]]:
    """For each two rows, the two columns between which their difference changes most."""
    answer = []
    rows = range(min(len(grid), SHOWN_LEVELS))
    for i, j in [(i, j) for i in rows for j in rows if i > j]:
        difference = grid[i] - grid[j]
        a, b = int(difference.argmax()), int(difference.argmin())
        answer.append((float(difference[a] - difference[b]), (i, a), (j, b)))
    return answer


def _over(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.inf if part > 0 else 0.0


def _randomised(table: Layout, names: Sequence[str], seed: int, resamples: range) -> float | None:
    """p of the randomisation test of a factor; None of an interaction, for which there is no exact
    one, and of a study so small that no exchange of levels could give a p that survives Holm's
    correction.
    """
    samples = _matched(table, table.position(names[0])) if len(names) == 1 else None
    if samples is None or _different_exchanges(samples) < resamples.start:
        return None
    number = max(resamples.start, min(resamples.stop, DRAWS_AT_MOST // samples.size))
    answer = stats.permutation_test(
        tuple(samples),
        _spread,
        permutation_type="samples",
        vectorized=True,
        n_resamples=number,
        batch=max(1, BATCH_DRAWS // samples.size),
        alternative="greater",
        rng=np.random.default_rng(seed),
    )
    return float(answer.pvalue)


def _different_exchanges(samples: np.ndarray) -> float:
    """How many there are: all orders of the levels in each set, of which those that rename the
    levels are one."""
    levels, sets = samples.shape
    return math.exp(min(math.lgamma(levels + 1) * (sets - 1), 700.0))


def _spread(*levels: np.ndarray, axis: int) -> np.ndarray:
    """How far the means of the levels lie apart."""
    return np.var([level.mean(axis=axis) for level in levels], axis=0)


def _matched(table: Layout, along: int) -> np.ndarray | None:
    """Levels × sets of runs of one block that differ in this factor only; places without all levels
    are left out."""
    present = np.unique(table.codes[:, along])
    places: dict[tuple[int, ...], dict[int, np.ndarray]] = {}
    for row, logs in zip(table.codes, table.logs, strict=True):
        places.setdefault(tuple(np.delete(row, along)), {})[int(row[along])] = logs
    whole = [place for place in places.values() if len(place) == len(present)]
    if not whole:
        return None
    return np.array([np.concatenate([place[int(level)] for place in whole]) for level in present])
