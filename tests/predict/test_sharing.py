"""More ranks than cores, by arithmetic: what all compute, over the cores that there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tailrace.predict.ranks import PARTS, Runs
from tailrace.predict.sharing import Crowd, Sharing, sharing

COUNTS = np.asarray([1.0, 2.0, 4.0])


def crowds(cores: int, alone_s: Sequence[float], in_files: float = 0.0) -> Sharing:
    """Runs whose ranks compute all at once."""
    found = []
    for ranks, each_s in zip(map(int, COUNTS), alone_s, strict=True):
        crowd = ranks / cores
        took_s = each_s * max(crowd, 1)
        found.append(Crowd(ranks, 1, crowd, took_s, took_s - each_s, in_files))
    return Sharing(tuple(found))


def runs(known: Sharing, **others: np.ndarray) -> Runs:
    computing = np.asarray([run.computing_s for run in known.runs])
    columns = {"computing": computing, **others}
    parts = np.column_stack([columns.get(part, 0 * COUNTS) for part in PARTS])
    return Runs(COUNTS, parts, waited=False, sharing=known)


def test_sixteen_ranks_on_four_cores_take_as_long_as_four() -> None:
    """8 s are shared out: 2 s on 4 ranks and cores. On 16 ranks each computes 0.5 s, and four take
    turns at each core. If only one at a time wanted a core it would be 0.5 s."""
    told = runs(crowds(4, 8 / COUNTS)).predict(16)
    assert told.predicted_s == pytest.approx(2)
    assert told.interval_s[0] < 0.51 and told.interval_s[1] > 2
    assert told.change.assumes[-1] == (
        "16 ranks take turns at 4 cores: each computes 4.00 times as long as on a core of its own"
        " (1 to 4.00 are open)"
    )


def test_who_is_in_a_file_call_leaves_its_core_to_others() -> None:
    """Three quarters of a run are files: of 16 ranks 4 want one of the 4 cores at any moment."""
    told = runs(crowds(4, 2 + 0 * COUNTS, in_files=0.75), files=6 + 0 * COUNTS).predict(16)
    assert told.predicted_s == pytest.approx(2 + 6)
    assert told.interval_s[1] > 4 * 2 + 6


def test_what_polls_may_wait_for_its_turn_as_well() -> None:
    """2 s of messages in a run of 4: on four ranks for each core up to 8 s, where computing is
    shared out and takes no longer than it did."""
    told = runs(crowds(4, 8 / COUNTS), transfers=2 + 0 * COUNTS).predict(16)
    assert told.predicted_s == pytest.approx(2 + 2)
    assert told.interval_s[1] > 2 + 8


def test_runs_that_shared_cores_say_how_much_they_wait() -> None:
    """On two cores 8 s take 8, 4 and 4 s on 1, 2 and 4 ranks, and 4 s on any more."""
    told = runs(crowds(2, 8 / COUNTS)).predict(8)
    assert told.predicted_s == pytest.approx(4)
    assert "computing: 8.00 s / n on n ranks" in told.change.assumes
    assert told.interval_s[0] > 3


def test_enough_cores_change_nothing() -> None:
    known = runs(crowds(64, 8 / COUNTS))
    told = known.predict(16)
    assert told.predicted_s == pytest.approx(0.5)
    assert not any("take turns" in sentence for sentence in told.change.assumes)


def test_more_nodes_are_as_full_as_those_before() -> None:
    """Two ranks for each core, on one node, two and four: so it stays."""
    found = Sharing(tuple(Crowd(n, n // 4, 2.0, 2.0, 1.0, 0.0) for n in (4, 8, 16)))
    assert found.ranks_a_core(64) == 2
    assert found.times(64).value == pytest.approx(2)


def columns(cores: Sequence[str], waited_ns: int | None = 0) -> dict[str, Any]:
    ranks = len(cores)
    rank: dict[str, Any] = {
        f"{kind}{state}_ns": [value] * ranks
        for kind, value in (("", 1_000_000_000), ("waited_", waited_ns))
        for state in ("useful", "io", "mpi")
    }
    rank |= {"host": ["node"] * ranks, "cores": list(cores)}
    any_waited = {f"{state}_ns": 0 for state in ("useful", "io", "mpi")}
    return {"ranks": ranks, "runtime_ns": 4 * 10**9, "rank": rank, "any_waited": any_waited}


@pytest.mark.parametrize(
    ("cores", "is_known"),
    [
        (["0-3"] * 4, True),
        # another rank would get the next core, if there is one
        (["0", "1", "2", "3"], False),
        (["0"], False),
        # there is no next one
        (["0", "1", "0", "1"], True),
        (["anything"] * 2, False),
    ],
)
def test_bound_ranks_do_not_tell_how_many_cores_there_are(cores: list[str], is_known: bool) -> None:
    found = sharing([columns(cores)])
    assert (found is not None) == is_known
    if found:
        assert found.runs[0].in_files == pytest.approx(0.25)


def test_traces_that_do_not_tell_of_waits_say_nothing_of_turns() -> None:
    assert sharing([columns(["0-3"] * 4), columns(["0-3"] * 4, None)]) is None
