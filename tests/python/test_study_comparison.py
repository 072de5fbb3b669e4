"""What the first line says of two studies, and of an average."""

from __future__ import annotations

import pytest

from tailrace.errors import TailraceError
from tailrace.study.analysis.comparison import compare
from tailrace.study.analysis.measured import Measured
from tailrace.study.report.comparison import combination_rows, level_rows, notes

from .simulated_averages import first_line
from .simulated_comparisons import COMPARISONS, slow_ones_fail, two
from .study_data import study
from .test_study_first_runs import first_on_targets


def test_an_average_that_may_not_have_changed_is_not_said_to() -> None:
    headline = two("nothing has changed", 3).headline
    assert "whether elapsed time changes on the average cannot be told: " in headline
    assert headline.endswith("; 0 of 24 combinations changed for certain.")


def test_what_changed_as_much_the_other_way_has_not_changed_most() -> None:
    assert ", most with " not in two("one target up, the other down", 1).headline


def test_one_study_may_have_one_level_of_what_the_other_varies() -> None:
    """As `--set "factor.ranks.levels=[8]"` leaves it; without any level in common it is refused."""
    whole = study({"ranks": [1, 8], "tool": ["x", "y"]}, lambda w: 80 / w["ranks"])
    part = study({"ranks": [8], "tool": ["x", "y"]}, lambda w: 13.0, seed=2)
    for pair, ratio in ((whole, part), 1.3), ((part, whole), 1 / 1.3):
        found = compare(*pair)
        assert [one.where for one in found.combinations] == [
            {"ranks": 8, "tool": "x"},
            {"ranks": 8, "tool": "y"},
        ]
        assert found.overall.low < ratio < found.overall.high
    other = study({"ranks": [4], "tool": ["x", "y"]}, lambda w: 13.0)
    with pytest.raises(TailraceError, match="only one of the two studies varies ranks"):
        compare(whole, other)


def test_the_combination_that_changed_is_found() -> None:
    found = two("one combination of 24", 2, blocks=5)
    (changed,) = [one for one in found.combinations if one.certain]
    assert changed.where == {"ranks": 8, "target": "b", "method": "z"}


def test_an_average_that_may_be_the_reverse_somewhere_is_said_to_be_one() -> None:
    lines = [first_line("two modes", seed) for seed in range(40)]
    told = [line for line in lines if "ool x takes" in line]
    assert told and all("average" in line for line in told)


def test_runs_that_happen_to_be_in_one_mode_have_not_changed() -> None:
    """Three quick runs in one study and three slow ones in the other, somewhere among 24."""
    happens = COMPARISONS["two runs in five take 1.5 times, 3 blocks"]
    assert sum(map(happens, range(30))) <= 3


def test_two_runs_do_not_make_a_change_certain() -> None:
    found = two("one combination of 24", 4, blocks=2)
    assert not any(one.certain for one in found.combinations)


def test_what_goes_first_on_each_target_has_not_changed() -> None:
    """Size s goes first on both targets in each block of the first study, and never in the second;
    that takes half as long again."""
    found = compare(first_on_targets("sssss"), first_on_targets("mlmlm"))
    assert not found.overall.decided
    assert not any(one.certain for one in found.combinations)


def test_a_study_that_loses_its_slow_runs_has_not_become_faster() -> None:
    found = compare(*slow_ones_fail("12 combinations", 5, 0.25, seed=3))
    assert found.overall.blocks == 0 and not any(one.certain for one in found.combinations)
    assert "cannot be told (without 12 combinations whose slow runs" in found.headline
    assert notes(found)[1].startswith("more runs fail in the second (15 of 60) than in the first")
    rows = [*level_rows(found), *combination_rows(found)]
    assert not any("nan" in cell for row in rows for cell in row)
    assert level_rows(found)[0] == ("tool", "x", "unknown")
    # as many lost in both make neither the faster one
    lost = slow_ones_fail("12 combinations", 5, 0.25, seed=4)[1]
    assert compare(lost, slow_ones_fail("12 combinations", 5, 0.25, seed=5)[1]).overall.blocks


def test_three_runs_of_thirty_that_fail_in_one_study_are_enough() -> None:
    """Without them the average falls for certain in one study of ten."""
    found = compare(*slow_ones_fail("6 combinations", 5, 0.1, seed=1))
    assert found.overall.blocks == 0


def test_what_only_one_study_has_is_counted() -> None:
    levels = {"tool": ["x", "y"], "size": ["s", "l"]}
    whole, part = (study(levels, lambda w: 10.0, seed=seed) for seed in (1, 2))
    runs = part.runs[(part.runs["tool"] != "y") | (part.runs["size"] != "l")]
    found = compare(whole, Measured(part.plan, runs.reset_index(drop=True)))
    assert "only in the first: 1 combination, only in the second: 0;" in notes(found)[1]
