"""Levels compared where everything else is alike: where combinations are missing, the means over a
factor's levels are of different places, and what differs may be the places."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

# Of a factor of more levels only so many are compared, and of each of two factors.
LEVELS_AT_MOST = {1: 60, 2: 12}


class Contrast(NamedTuple):
    """The levels of one or two factors (places among those present) between which the response
    differs most; of two, between which the ratio of the first's levels differs most. `weights`: of
    the combinations' means, whose sum is the difference, over all places that have all of them."""

    high: tuple[int, ...]
    low: tuple[int, ...]
    weights: np.ndarray


def is_whole(codes: np.ndarray) -> bool:
    """Whether all levels were run in all places."""
    return len(codes) == np.prod([len(np.unique(column)) for column in codes.T], dtype=float)


def widest(codes: np.ndarray, positions: Sequence[int], means: np.ndarray) -> Contrast | None:
    """None where no place has the levels that a comparison needs."""
    grid = _grid(codes, positions)
    best, chosen = -1.0, None
    most = LEVELS_AT_MOST[len(positions)]
    signs = np.array([(-1) ** sum(ends) for ends in product((0, 1), repeat=len(positions))])
    pairs = [list(combinations(range(min(size, most)), 2)) for size in grid.shape[1:]]
    for some in product(*pairs):
        cells = grid[(slice(None), *np.array(list(product(*some))).T)]
        cells = cells[(cells >= 0).all(axis=1)]
        if not len(cells):
            continue
        difference = float((means[cells] @ signs).mean())
        if abs(difference) > best:
            best, chosen = abs(difference), (some, cells, signs, difference)
    return None if chosen is None else _contrast(*chosen, len(codes))


def _contrast(
    some: tuple[tuple[int, int], ...],
    cells: np.ndarray,
    signs: np.ndarray,
    difference: float,
    number: int,
) -> Contrast:
    """So that the difference is above 0: else the first factor's levels change places."""
    turned = difference < 0
    weights = np.zeros(number)
    weights[cells] = (-signs if turned else signs) / len(cells)
    (first, second), *others = some
    if turned:
        first, second = second, first
    high, low = [first], [second]
    for a, b in others:
        high.append(a)
        low.append(b)
    return Contrast(tuple(high), tuple(low), weights)


def _grid(codes: np.ndarray, positions: Sequence[int]) -> np.ndarray:
    """Places × levels of each of these factors: the number of the combination, -1 of none."""
    others = np.delete(codes, positions, axis=1)
    place = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
    found = [np.unique(codes[:, at], return_inverse=True) for at in positions]
    grid = np.full((place.max() + 1, *(len(levels) for levels, _ in found)), -1)
    grid[(place, *(level.reshape(-1) for _, level in found))] = np.arange(len(codes))
    return grid
