"""A program that spawns others: its ranks and theirs are one run, and wait for each other."""

from __future__ import annotations

import pytest

from tests.golden import harness

pytestmark = pytest.mark.measured("how long ranks computed and waited")
COMPUTED = [0.2, 0.0, 0.3]


@pytest.mark.sampled
@pytest.mark.slow
def test_a_spawned_world_waits_for_its_parent_and_the_other_way_round(mpi, tailrace, tmp_path):
    columns = harness.columns_of(mpi, tailrace, "spawned", 1, tmp_path)
    useful_s = [int(nanoseconds) / 1e9 for nanoseconds in columns["rank"]["useful_ns"]]
    assert useful_s == pytest.approx(COMPUTED, abs=0.02)
    # 0.3 if the message between the worlds were not followed; T has what spawning takes besides
    assert columns["ideal_network_ns"] / 1e9 == pytest.approx(sum(COMPUTED), abs=0.03)
