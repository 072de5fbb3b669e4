"""The scores, by arithmetic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from .cases import CASES
from .machine import Bed
from .models import Calibrated
from .page import Fixed, page
from .scores import Pair, halves, named_better, summary


def pair(
    predicted: float,
    naive: float = 4.0,
    low: float = 0.0,
    high: float = 9.0,
    is_open: bool = False,
    target: tuple[float, ...] = (6.0, 5.0, 7.0),
) -> Pair:
    """A run of 1 s that takes 6 s elsewhere: 5 s more, in the median of three rounds."""
    rounds = ((1.0, 1.0, 1.0), target)
    words = ("case", "local to nfs")
    return Pair("file system", *words, predicted, low, high, naive, is_open, *rounds)


def test_the_error_is_of_the_change_and_not_of_the_run() -> None:
    # predicted 7 s instead of 6 s: 17 % of the run, but 20 % of what changes
    assert pair(6.0).error == pytest.approx(0.2)
    assert pair(4.0).error == pytest.approx(-0.2)
    assert pair(4.0).naive_error == pytest.approx(-0.2)


def test_a_pair_is_bound_by_bytes_where_they_are_most_of_the_change() -> None:
    assert pair(5.0, naive=4.0).is_bound_by_bytes
    assert not pair(5.0, naive=3.9).is_bound_by_bytes


def test_the_floor_is_how_well_one_half_says_the_other() -> None:
    # 1 of 3: 4 against the median of 5 and 6, 5.5; 5 against 5; 6 against 4.5
    assert halves(np.asarray([5.0, 4.0, 6.0])) == pytest.approx(1 - 4 / 5.5)
    assert halves(np.asarray([3.0, 3.0, 3.0])) == 0


def test_a_summary_says_how_often_the_interval_held() -> None:
    pairs = [pair(5.0), pair(5.5), pair(6.0, high=4.9), pair(5.0, low=5.1)]
    found = summary(pairs)
    assert found.pairs == found.notable == 4
    assert found.median_error == pytest.approx(0.05)
    assert found.within == 0.5
    assert found.beyond_floor == 0


def test_of_pairs_of_which_little_changes_only_the_run_and_the_interval_are_scored() -> None:
    # 10 s become 10.5 s: less than a tenth; 11 s were said, so half a second of 10.5 too much
    rounds = ((10.0, 10.0, 10.0), (10.5, 10.5, 10.5))
    words = ("case", "serial to independent")
    little = Pair("method", *words, 1.0, 0.6, 2.0, 0.0, False, *rounds)
    found = summary([little])
    assert (found.pairs, found.notable, found.within) == (1, 0, 0.0)
    assert np.isnan(found.median_error) and np.isnan(named_better([little]))
    assert found.error_of_run == pytest.approx(0.5 / 10.5)


def test_a_change_of_less_than_a_process_may_wait_for_is_not_notable() -> None:
    # half of a run, but 0.02 s of 0.04; a twentieth of a second is
    words = ("case", "independent to collective")
    for target, is_large in ((0.02, False), (0.05, True)):
        rounds = ((0.0, 0.0, 0.0), (target,) * 3)
        assert Pair("method", *words, 1.0, 0.0, 2.0, 0.0, False, *rounds).is_large is is_large


def test_the_better_one_is_named_where_the_sign_is_right() -> None:
    assert named_better([pair(5.0), pair(0.1), pair(-0.1), pair(9.0)]) == 0.75


def test_a_change_that_is_mostly_noise_is_not_notable_however_well_it_was_predicted() -> None:
    # changes of 0.2, 1 and 0.1 s: 0.2 against 0.55, 1 against 0.15, 0.1 against 0.6; half are
    # off by 83 %
    noisy = pair(0.2, target=(1.2, 2.0, 1.1))
    assert noisy.floor == pytest.approx(1 - 0.1 / 0.6)
    assert noisy.is_large and noisy.is_noise and not noisy.is_notable
    steady = pair(0.2, target=(1.2, 1.21, 1.19))
    assert steady.is_large and not steady.is_noise and steady.is_notable


def rows(pairs: list[Pair]) -> dict[str, list[str]]:
    """Of the page's first table, by name: pairs, notable ones, and their median error."""
    fixed = Fixed(CASES[0], "10:11", "hash")
    held_out = {"runs": 14, "median_error": 0.05, "worst_error": 0.2}
    made = [Calibrated(Bed("nfs", Path("/"), (), "NFS"), at, held_out) for at in ("10:00", "10:40")]
    written = page(pairs, 3, [fixed], made, "command", {})
    # of one file system, twice
    assert "one of 1 file systems" in written
    assert "| nfs | 10:00 | 14 | 5% | 20% |\n| nfs | 10:40 | 14 | 5% | 20% |\n" in written
    assert f"| {CASES[0].name} | 10:11 | `hash` |" in written
    assert "- 3 more changes `whatif` declines to predict" in written
    lines = [line.strip("| ").split(" | ") for line in written.splitlines() if line[:1] == "|"]
    return {name: rest[:3] for name, *rest in lines if len(rest) == 9 and rest[0].isdigit()}


def test_what_was_said_to_be_open_and_what_is_noise_are_scored_apart_and_counted() -> None:
    noisy = pair(0.1, naive=5.0, target=(1.2, 2.0, 1.1))
    told, open_ = pair(5.5), pair(50.0, is_open=True)
    found = rows([told, open_, noisy])
    assert found["file system, bound by bytes"] == ["2", "1", "10%"]
    assert found["said to be open"] == ["1", "1", "900%"]
    assert found["mostly noise"] == ["1", "1", "50%"]
    assert found["all, these too"] == ["3", "3", "50%"]
    # without such pairs their rows are not there
    assert set(rows([told])) == {"file system, bound by bytes", "all, these too"}
