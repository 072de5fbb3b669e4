"""Calls that are left by longjmp: they end where they are left, and what is computed afterwards is
computed."""

from __future__ import annotations

import pytest

from tests.golden import harness

pytestmark = pytest.mark.measured("how long ranks computed and waited")


@pytest.mark.sampled
@pytest.mark.slow
def test_a_call_that_is_left_by_a_jump_ends_there(mpi, tailrace, tmp_path):
    """Rank 0 computes 3 times 100 ms, and waits 150 for a lock before it leaves; rank 1 computes
    for 450 ms. If the calls went on until the next ones, rank 0 would compute for 100 ms alone."""
    columns = harness.columns_of(mpi, tailrace, "left", 2, tmp_path)
    seconds = {
        name: [int(each) / 1e9 for each in columns["rank"][f"{name}_ns"]]
        for name in ("useful", "io", "mpi")
    }
    assert seconds["useful"] == pytest.approx([0.3, 0.45], abs=0.02)
    assert seconds["io"] == pytest.approx([0.15, 0], abs=0.02)
    functions = columns["functions"]
    calls = dict(zip(functions["name"], functions["calls"], strict=True))
    assert calls["MPI_Send"] == 1
    assert columns["capture"]["events_lost"] == 0
