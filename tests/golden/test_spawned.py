"""A program that spawns others: its ranks and theirs are one run, and wait for each other."""

from __future__ import annotations

import subprocess

import pytest

from tests.golden import harness

pytestmark = pytest.mark.measured("how long ranks computed and waited")
COMPUTED = [0.2, 0.0, 0.3]


@pytest.mark.sampled
@pytest.mark.slow
def test_a_spawned_world_waits_for_its_parent_and_the_other_way_round(mpi, tailrace, tmp_path):
    from tailrace import engine

    command = [mpi.mpicc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    program = harness.compile_program(command, [harness.HERE / "spawned.c"], tmp_path / "spawned")
    directory = tmp_path / "run"
    done = subprocess.run(
        [*tailrace, "run", "--no-report", "-o", str(directory), "--", *mpi.launch(1, program)],
        env=mpi.variables(),
        capture_output=True,
        text=True,
        timeout=harness.SECONDS_MAX,
    )
    assert done.returncode == 0, done.stderr
    columns = engine.analyze(harness.find_trace(directory, done.stderr))
    useful_s = [int(nanoseconds) / 1e9 for nanoseconds in columns["rank"]["useful_ns"]]
    assert useful_s == pytest.approx(COMPUTED, abs=0.02)
    # 0.3 if the message between the worlds were not followed; T has what spawning takes besides
    assert columns["ideal_network_ns"] / 1e9 == pytest.approx(sum(COMPUTED), abs=0.03)
