"""Of each sentence that a study's report can say, how often it is false (simulated_studies.py)."""

from __future__ import annotations

import pytest

from .simulated_studies import CASES

# A study takes 0.12 s: all cases an hour on two cores.
STUDIES, FEW = 100, 12
# Of 632 cases a few are beyond three standard errors by chance: these are taken again with so many.
MANY = 600
# Some of each sort.
SOME = list(CASES)[::9]


@pytest.mark.whole
@pytest.mark.parametrize("name", CASES)
def test_at_most_five_in_a_hundred_sentences_are_false(name):
    case = CASES[name]
    if not case.tolerates(case.share(STUDIES), STUDIES):
        share = case.share(MANY)
        assert case.tolerates(share, MANY), share


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_few_sentences_of_few_studies_are_false(name):
    share = CASES[name].share(FEW)
    assert CASES[name].tolerates(share, FEW), share
