"""Which cases of a matrix `make test` runs (tests/sampling.py)."""

from __future__ import annotations

import itertools

import pytest

from tests.sampling import cover, levels

CASES = [
    {"method": method, "form": form, "ranks": ranks}
    for method, form, ranks in itertools.product("abcde", "xyz", "12")
    if (method, form) != ("a", "x")  # which does not go together
]
QUICK = [False] * len(CASES)


def pairs_of(case: dict[str, str]) -> set[tuple[tuple[str, str], ...]]:
    return set(itertools.combinations(sorted(case.items()), 2))


def test_every_level_is_there_once_and_no_case_too_many() -> None:
    taken = [CASES[place] for place in cover(CASES, QUICK, pairs=False)]
    for name in ("method", "form", "ranks"):
        assert {case[name] for case in taken} == {case[name] for case in CASES}
    assert len(taken) == 5  # as many as there are methods


def test_every_pair_that_occurs_is_there() -> None:
    taken = [CASES[place] for place in cover(CASES, QUICK, pairs=True)]
    assert set().union(*map(pairs_of, taken)) == set().union(*map(pairs_of, CASES))
    assert len(taken) < len(CASES)


def test_of_cases_that_cover_as_much_the_quick_ones_are_taken() -> None:
    slow = [case["ranks"] == "1" for case in CASES]
    taken = cover(CASES, slow, pairs=False)
    assert sum(slow[place] for place in taken) == 1  # one rank has to be there
    assert not slow[taken[0]]


@pytest.mark.parametrize(("first", "second"), [(1, 2)])
@pytest.mark.parametrize("third", "a")
def test_what_stands_in_one_parametrize_is_one_parameter_unless_apart(
    request: pytest.FixtureRequest, first: int, second: int, third: str
) -> None:
    assert levels(request.node, apart=False) == {"first,second": "1 2", "third": "'a'"}
    assert levels(request.node, apart=True) == {"first": "1", "second": "2", "third": "'a'"}
