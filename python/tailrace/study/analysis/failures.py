"""Where runs fail more often than elsewhere. If they fail because they would have been slow (out of
memory, ended by somebody's script), those that ended are the quick ones, and their mean says too
little. Where runs fail as often everywhere, whatever the levels, that is alike on both sides of a
comparison.

Few failures cannot be told from chance, and yet may be the slowest runs of all: then the mean of
what is left is too small by what a normal distribution lacks without its upper end.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

# Rather too often than too rarely: it costs conclusions and makes no false ones.
GATHERED = 0.3
# In a study of so few runs each is missed, whatever chance says: where this share more is lost at a
# level than elsewhere, what is left may well be the quick ones.
FEW_RUNS, EXCESS = 20, 0.1
# Of two studies either may lose more.
EITHER = 2
# Of what is left of fewer runs than this leaves, normal scatter says nothing.
MOST_LOST = 0.9
# A single failure says little of a combination by itself.
RUNS_AT_LEAST = 2


@dataclass(frozen=True)
class Failing:
    """Combinations of which runs are missing more often than elsewhere: all with one of `levels`
    (factor, level), and `alone`, which are others. `counts`: combinations × (lost, all)."""

    codes: np.ndarray
    counts: np.ndarray
    levels: tuple[tuple[int, int], ...]
    alone: np.ndarray

    @property
    def thinned(self) -> np.ndarray:
        """Which combinations are concerned."""
        found = self.alone.copy()
        for position, code in self.levels:
            found |= self.codes[:, position] == code
        return found

    def of_level(self, position: int, code: int) -> tuple[int, int]:
        """How many runs with a level were lost, of how many."""
        lost, all_ = self.counts[self.codes[:, position] == code].sum(axis=0)
        return int(lost), int(all_)


def failing(codes: np.ndarray, lost: np.ndarray) -> Failing:
    """`codes`: runs × factors, the number of each level; `lost`: which runs gave no number. Where
    none gave one there is nothing to be misled by."""
    combinations, row = np.unique(codes, axis=0, return_inverse=True)
    counts = np.column_stack([np.bincount(row.reshape(-1), of) for of in (lost, None)]).astype(int)
    some = counts[:, 0] < counts[:, 1]
    ran = some[row.reshape(-1)]
    levels = tuple(_gathered(codes[ran], lost[ran], few=len(lost) <= FEW_RUNS))
    found = Failing(combinations[some], counts[some], levels, np.zeros(some.sum(), dtype=bool))
    return replace(found, alone=_often(found.counts) & ~found.thinned)


def _gathered(codes: np.ndarray, lost: np.ndarray, few: bool) -> list[tuple[int, int]]:
    """The levels at which more runs are lost than chance puts there, by Bonferroni's correction
    over what the factors could differ in, or, in a study of `few` runs, a share of them: the worst
    one, then that of what is left without it."""
    present = [np.unique(column) for column in codes.T]
    places = [(at, int(code)) for at, some in enumerate(present) if len(some) > 1 for code in some]
    if not places or not lost.any():
        return []
    there = np.array([codes[:, at] == code for at, code in places])
    failed, tried = (there & lost).sum(axis=1), there.sum(axis=1)
    p = _chance(failed, tried, int(lost.sum()), len(lost))
    worst = int(np.argmin(p))
    if p[worst] * sum(len(some) - 1 for some in present) > GATHERED:
        more = failed / tried - (lost.sum() - failed) / (len(lost) - tried)
        worst = int(np.argmax(more))
        if not few or more[worst] < EXCESS:
            return []
    rest = ~there[worst]
    return [places[worst], *_gathered(codes[rest], lost[rest], few)]


def _often(counts: np.ndarray) -> np.ndarray:
    """The same of combinations, over those that have a failure."""
    lost, tried = counts.T
    p = _chance(lost, tried, int(lost.sum()), int(tried.sum()))
    return (lost >= RUNS_AT_LEAST) & (p * np.count_nonzero(lost) <= GATHERED)


def _chance(lost: np.ndarray, tried: np.ndarray, lost_in_all: int, tried_in_all: int) -> np.ndarray:
    """That so many failures, or more, fall on these by chance."""
    return np.asarray(stats.hypergeom.sf(lost - 1, tried_in_all, lost_in_all, tried))


@dataclass(frozen=True)
class Unlike:
    """Of two studies, of which combinations of each (combinations × 2) more runs are missing than
    of the other's. `counts`: of all of them in each study, (lost, all)."""

    sides: np.ndarray
    counts: np.ndarray


def unlike(codes: np.ndarray, counts: np.ndarray) -> Unlike:
    """`codes`: combinations × factors; `counts`: combinations × studies × (lost, all). Asked of all
    combinations, and of each level by Bonferroni's correction over these; in studies of few runs a
    share of them is enough."""
    every = np.ones(len(codes), dtype=bool)
    levels = [column == code for column in codes.T for code in np.unique(column)]
    places = [every, *(place for place in levels if not place.all())]
    sides = np.zeros((len(codes), 2), dtype=bool)
    for place in [*places[1:], every]:
        # at last all that no level has explained
        looked = EITHER if place is every else len(places) - 1
        place = place & ~sides.any(axis=1) if place is every else place
        if not place.any():
            continue
        (lost, other), (tried, others) = counts[place].sum(axis=0).T
        for study, (bad, of, less, rest) in enumerate(
            ((lost, tried, other, others), (other, others, lost, tried))
        ):
            p = float(_chance(bad, of, bad + less, of + rest))
            few = min(counts[:, :, 1].sum(axis=0)) <= FEW_RUNS and bad / of - less / rest >= EXCESS
            if bad and (p * looked <= GATHERED or few):
                sides[place, study] = True
    return Unlike(sides, counts.sum(axis=0))


def missing(lost: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """By how much the mean logarithm of each combination would be more, if those that failed were
    its slowest runs. `lost`: their share of its runs; `scatter`: how those scatter that are left
    (standard deviations), which is less than all of them did."""
    answer, some = np.zeros(len(lost)), lost > 0
    share = np.minimum(lost[some], MOST_LOST)
    end = stats.norm.isf(share)
    above = stats.norm.pdf(end) / (1 - share)
    answer[some] = scatter[some] * above / np.sqrt(1 - end * above - above**2)
    return answer
