"""How far chance alone takes the means of a combination's runs apart in two studies.

Three runs that happen to be alike tell nothing of how far such runs scatter: where a fifth of all
runs takes twice as long, somewhere all three of one study do, and none of the other. So the runs of
all combinations say how they scatter: new runs are drawn from what lies between each and its
combination's median (which is one of them, and so leaves modes where they are), as large as their
variance asks for. The greatest of all differences is what any is compared with (bootstrap of the
maximum; P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley 1993).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

DRAWS = 4000
# Two runs do not tell two modes from what lies between.
RUNS_AT_LEAST = 3
# In fewer blocks runs are alike within each combination, and differ between them, by chance, where
# a run takes longer now and then.
BLOCKS_AT_LEAST = 3
WAYS_AT_MOST = 10_000
# Of a change that chance makes more often than this nobody is told.
RARE = 0.05
ROUNDING = 1e-9


@dataclass(frozen=True)
class Runs:
    """Of one study: logarithms, combinations × blocks, and the variance of a run of each
    combination relative to those of others."""

    logs: np.ndarray
    relative: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        return np.isfinite(self.logs).sum(axis=1)

    def away(self) -> np.ndarray:
        """What runs differ by from their combination's median, as a run of a typical combination
        would; empty where no combination has two."""
        some = (self.counts > 1) & (self.relative > 0)
        logs = self.logs[some] / np.sqrt(self.relative[some])[:, None]
        if not len(logs):
            return np.empty(0)
        centred = logs - np.nanmean(logs, axis=1, keepdims=True)
        variance = float(np.nansum(centred**2)) / float(np.sum(self.counts[some] - 1))
        away = (logs - np.nanmedian(logs, axis=1, keepdims=True)).reshape(-1)
        away = away[np.isfinite(away)]
        square = float(np.mean(away**2))
        return away * np.sqrt(variance / square) if square > 0 else away

    def means(self, random: np.random.Generator, away: np.ndarray) -> np.ndarray:
        """Of runs drawn anew: draws × combinations, as differences from what they should be."""
        drawn = [random.choice(away, (DRAWS, count)).mean(axis=1) for count in self.counts]
        return np.array(drawn).T * np.sqrt(self.relative)


def by_chance(first: Runs, second: Runs) -> Sequence[float]:
    """For each combination, the chance that where nothing has changed some combination differs at
    least as much, relative to how much it may; 1 where it has too few runs to say so. Every
    combination has a run in both.

    Each study by what its own runs say, and by what those of both do, whichever makes it likelier:
    one study may scatter more than the other, and one alone knows little of modes that are rare.
    """
    own = first.away(), second.away()
    joint = np.concatenate(own)
    enough = np.minimum(first.counts, second.counts) >= RUNS_AT_LEAST
    chances = np.maximum(_chances(first, second, *own), _chances(first, second, joint, joint))
    chances = np.where(enough, chances, 1.0)
    for at in np.flatnonzero(chances <= RARE):
        pool = _where_alike(first, second, int(at))
        chances[at] = max(chances[at], _chances(first, second, pool, pool)[at])
    return [float(chance) for chance in chances]


def _where_alike(first: Runs, second: Runs, at: int) -> np.ndarray:
    """What runs differ by if this combination has not changed: its runs of both studies are then of
    one kind, and lie as far from their common median as such runs do. All of one study in one mode,
    and all of the other in another, say of each study by itself that such runs do not scatter."""
    logs = np.concatenate([first.logs[at], second.logs[at]])[None, :]
    relative = np.array([(first.relative[at] + second.relative[at]) / 2])
    others = [
        Runs(np.delete(side.logs, at, axis=0), np.delete(side.relative, at)).away()
        for side in (first, second)
    ]
    return np.concatenate([*others, Runs(logs, relative).away()])


def dealt_out(runs: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """The chance that the averages of two studies lie as far apart if the runs of each combination
    (of the first study, and of the second) were dealt out to the two anew: in all ways, where there
    are few. Where there are many, chance hardly ever does, and that is not asked."""
    pools = [tuple(values[np.isfinite(values)] for values in pair) for pair in runs]
    ways = [math.comb(len(first) + len(second), len(first)) for first, second in pools]
    if math.prod(ways) > WAYS_AT_MOST:
        return 0.0
    sums = np.zeros(1)
    for first, second in pools:
        both, count = np.concatenate([first, second]), len(first)
        apart = np.array(
            [
                np.delete(both, chosen).mean() - both[list(chosen)].mean()
                for chosen in combinations(range(len(both)), count)
            ]
        )
        sums = (sums[:, None] + apart).reshape(-1)
    # that which was, is the first of all
    return float(np.mean(np.abs(sums) >= abs(sums[0]) * (1 - ROUNDING)))


def tells_nothing(levels: int, combinations: int, blocks: int) -> bool:
    """Whether no factor of so many levels can be beyond chance, however far apart they lie: of two
    blocks of three combinations 6 of 36 ways look as much like an effect, of two levels in four
    combinations 2 of 36, and of four levels 24 of 576."""
    return blocks < BLOCKS_AT_LEAST and (combinations < 4 or (combinations == 4 and levels < 4))


def dealt_out_in_blocks(directions: np.ndarray, logs: np.ndarray) -> float:
    """The chance that the combinations' means differ as much in these orthonormal directions
    (combinations × directions) if the runs of each block were dealt out to the combinations anew:
    in all ways, where there are few, as above."""
    number, blocks = logs.shape
    if math.factorial(number) ** blocks > WAYS_AT_MOST:
        return 0.0
    ways = np.array(list(permutations(range(number))))
    sums = np.zeros((1, directions.shape[1]))
    for block in logs.T:
        sums = (sums[:, None] + block[ways] @ directions).reshape(-1, directions.shape[1])
    squares = np.sum(sums**2, axis=1)
    return float(np.mean(squares >= squares[0] * (1 - ROUNDING)))


def _chances(
    first: Runs, second: Runs, first_pool: np.ndarray, second_pool: np.ndarray
) -> np.ndarray:
    """The pools are what runs of each study differ by."""
    if not len(first_pool) or not len(second_pool):
        return np.ones(len(first.logs))
    squares = np.mean(first_pool**2) / first.counts, np.mean(second_pool**2) / second.counts
    expected = squares[0] * first.relative + squares[1] * second.relative
    if not np.all(expected > 0):
        return np.ones(len(first.logs))
    error = np.sqrt(expected)
    random = np.random.default_rng(0)
    drawn = second.means(random, second_pool) - first.means(random, first_pool)
    greatest = np.sort(np.max(np.abs(drawn) / error, axis=1))
    apart = np.nanmean(second.logs, axis=1) - np.nanmean(first.logs, axis=1)
    beyond = DRAWS - np.searchsorted(greatest, np.abs(apart) / error)
    return np.asarray((beyond + 1) / (DRAWS + 1))
