"""Time in files by what runs ask for; the rate and the time of each call are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailrace.predict.asked import KINDS, TIMES, Asked, asked
from tailrace.predict.ranks import PARTS, Runs

RANKS = np.asarray([1.0, 2.0, 3.0])


def runs(
    files_s: np.ndarray, counts: dict[str, np.ndarray] | None, ranks: np.ndarray = RANKS
) -> Runs:
    parts = np.column_stack([files_s if part == "files" else 0 * ranks for part in PARTS])
    known = counts and Asked(ranks, {kind: counts.get(kind, 0 * ranks) for kind in KINDS})
    return Runs(ranks, parts, waited=False, of_files=0.01, asked=known or None)


def test_locks_that_only_sharing_ranks_take_are_told_from_bytes() -> None:
    """Each rank writes 10 MB at 10 MB/s, and locks 1,000 times, 1 ms each, if there are others:
    1, 4, 6 and, on four ranks, 8 s. By the number of ranks alone from one to two looks steep."""
    locks = np.asarray([0, 2000.0, 3000.0])
    counts = {"bytes_written": 1e7 * RANKS, "metadata_calls": locks}
    times_s = counts["bytes_written"] / 1e7 + locks * 1e-3
    told = runs(times_s, counts).predict(4)
    assert told.predicted_s == pytest.approx(8)
    assert "files: 40.0 MB written at 10.0 MB/s and 4,000 calls of 1.00 ms each on 4 ranks" in (
        told.change.assumes
    )
    assert runs(times_s, None).predict(4).predicted_s == pytest.approx(8, rel=0.1)
    assert runs(times_s, None).predict(4).predicted_s != pytest.approx(8, rel=0.02)


def test_reading_to_write_back_counts_where_one_way_is_shared() -> None:
    """A disk moves 10 MB/s, read or written. Each rank writes 10 MB, and each but the first reads
    10 MB first: 1, 3, 5 and, on four, 7 s."""
    counts = {"bytes_written": 1e7 * RANKS, "bytes_read": 1e7 * (RANKS - 1)}
    times_s = (counts["bytes_written"] + counts["bytes_read"]) / 1e7
    told = runs(times_s, counts).predict(4)
    assert told.predicted_s == pytest.approx(7)
    assert "files: 70.0 MB moved at 10.0 MB/s on 4 ranks" in told.change.assumes


def test_what_ranks_do_from_some_number_on_is_not_level() -> None:
    """Two ranks cut a grid in one direction and read 110 times in all; four and eight cut it in
    two, and each reads 200 times: sixteen read 3,200 times, 2.5 ms each. No law of all three
    numbers is near, and of sixteen the level one said as many reads as of eight, 4 s."""
    numbers = np.asarray([2.0, 4.0, 8.0])
    reads = {"reads": np.asarray([110.0, 800.0, 1600.0]), "bytes_written": 1e6 + 0 * numbers}
    told = runs(reads["reads"] * 2.5e-3, reads, numbers).predict(16)
    assert told.predicted_s == pytest.approx(8, rel=0.01)


def test_level_times_stay_level_whatever_is_asked() -> None:
    """Each rank has a disk of its own."""
    told = runs(1 + 0 * RANKS, {"bytes_written": 1e7 * RANKS}).predict(4)
    assert told.predicted_s == pytest.approx(1)


def files(**columns: list[int]) -> dict[str, Any]:
    return {kind: columns.get(kind, [0, 0]) for kind in (*KINDS, *TIMES)}


def test_files_that_take_no_time_do_not_count() -> None:
    """A log of many short writes beside the file that matters; of three runs the middle one."""
    several = [
        (4, files(writes=[calls, 900], write_ns=[1_000_000, 100], bytes_written=[calls * 10, 7]))
        for calls in (30, 10, 20)
    ]
    found = asked(several)
    assert found.ranks.tolist() == [4]
    assert {kind: found.by_kind[kind].tolist() for kind in ("writes", "bytes_written")} == {
        "writes": [20],
        "bytes_written": [200],
    }
