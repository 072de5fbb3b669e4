"""Which cases of a matrix `make test` runs: as few as cover it. `make test-whole` runs the others.

A test with the marker `sampled` keeps enough of its cases that every level of every parameter is
there once, or with `sampled(pairs=True)` every pair of levels of any two parameters that occurs.
Names that stand in one `parametrize` are one parameter, unless it says `apart=True`.
Of cases that cover as much, those without `slow` are taken first, so that `make test-quick` has
some too; then those whose levels were taken least, so that the sample is balanced. The choice
depends on nothing but the order of the cases.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping

import pytest

Levels = Mapping[str, str]


def parts(case: Levels, pairs: bool) -> frozenset[tuple[tuple[str, str], ...]]:
    """What a case covers: its levels, or the pairs of them."""
    count = min(2 if pairs else 1, len(case))
    return frozenset(itertools.combinations(sorted(case.items()), count))


def cover(cases: list[Levels], slow: list[bool], pairs: bool) -> list[int]:
    """The places of the cases that are taken, in the order in which they were."""
    covered = [parts(case, pairs) for case in cases]
    missing = frozenset().union(*covered)
    taken: list[int] = []
    uses: Counter[tuple[str, str]] = Counter()

    def worth(place: int) -> tuple[int, bool, int, int]:
        new = len(covered[place] & missing)
        return (-new, slow[place], sum(uses[level] for level in cases[place].items()), place)

    while missing:
        best = min(range(len(cases)), key=worth)
        taken.append(best)
        uses.update(cases[best].items())
        missing -= covered[best]
    return taken


def levels(item: pytest.Function, apart: bool) -> Levels:
    """Of each parameter of the case, by its name or names."""
    values = {name: repr(value) for name, value in item.callspec.params.items()}
    if apart:
        return values
    found = {}
    for marker in item.iter_markers("parametrize"):
        argument = marker.args[0]
        names = argument.split(",") if isinstance(argument, str) else argument
        found[",".join(names)] = " ".join(values.pop(name.strip()) for name in names)
    return found | values


def mark_the_rest_whole(items: Iterable[pytest.Item]) -> None:
    """Of every test that is marked `sampled`."""
    matrices: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("sampled"):
            matrices.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for matrix in matrices.values():
        marker = matrix[0].get_closest_marker("sampled")
        assert marker is not None
        cases = [levels(item, marker.kwargs.get("apart", False)) for item in matrix]
        slow = [item.get_closest_marker("slow") is not None for item in matrix]
        taken = set(cover(cases, slow, marker.kwargs.get("pairs", False)))
        for place, item in enumerate(matrix):
            if place not in taken:
                item.add_marker("whole")
