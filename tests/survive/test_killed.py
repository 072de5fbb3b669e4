"""SIGKILL at a random moment with I/O in flight: every call that the program knows to be done is in
the trace."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import Mpi
from tests.processes import LONGEST_WAIT_S, started, until
from tests.survive import harness

RANKS = 2
STARTED = 200  # calls of each rank before the clock to its end starts


@pytest.fixture(scope="module")
def ranks(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness.build(mpi.mpicc, "ranks", tmp_path_factory.mktemp(mpi.name))


def wait_until_writing(directory: Path, process: subprocess.Popen) -> None:
    until(lambda: min(harness.counted(directory)[:RANKS]) >= STARTED, process)


def stop(directory: Path, victims: int, seed: int) -> None:
    """Kills the last `victims` ranks after a while that the seed says."""
    time.sleep(random.Random(seed).uniform(0, 0.2))
    for process_id in harness.process_ids(directory, RANKS)[RANKS - victims :]:
        os.kill(process_id, signal.SIGKILL)


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("victims", [1, RANKS])
def test_killed(
    victims: int, seed: int, mpi: Mpi, ranks: Path, tmp_path: Path, tailrace: list[str]
) -> None:
    seen = harness.prepare(tmp_path / "seen")
    command = harness.captured(
        tailrace, tmp_path / "run", mpi.launch(RANKS, ranks, seen, "forever", 0)
    )
    with started(
        command, env=mpi.variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_until_writing(seen, process)
        stop(seen, victims, seed)
        process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode != 0
    found = harness.columns(tmp_path / "run")
    assert found["ranks"] == RANKS
    harness.check_nothing_lost(found, sum(harness.counted(seen)), in_flight=RANKS)
    assert not found["capture"]["complete"]


def test_launcher_killed(mpi: Mpi, ranks: Path, tmp_path: Path, tailrace: list[str]) -> None:
    """The whole job, launcher first, as a batch system does at the end of the time limit."""
    seen = harness.prepare(tmp_path / "seen")
    command = harness.captured(
        tailrace, tmp_path / "run", mpi.launch(RANKS, ranks, seen, "forever", 0)
    )
    with started(
        command, env=mpi.variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_until_writing(seen, process)
        for child in children(process.pid):
            os.kill(child, signal.SIGTERM)
        process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode != 0
    harness.check_nothing_lost(
        harness.columns(tmp_path / "run"), sum(harness.counted(seen)), in_flight=RANKS
    )


def children(process_id: int) -> list[int]:
    return [
        int(child)
        for child in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
    ]
