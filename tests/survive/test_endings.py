"""However a program ends, its users see what they would have seen, and the trace holds all that was done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Mpi
from tests.survive import harness

ALONE = {
    "write": 2000,
    "abort": 2000,
    "_exit": 2000,
    "exec": 500,
    "fork": 2000,
    "spawn": 1,
    "threads": 500,
}
# Calls that the report counts: those of the process, not of a child without exec; and where a program has replaced
# itself, those of what it became last (the others are in the trace, before the window).
REPORTED = {"exec": 500, "fork": 2000, "spawn": 0, "threads": 64 * 500}
IN_TRACE = REPORTED | {"exec": 6 * 500}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness.build("cc", "alone", tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def ranks(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness.build(mpi.mpicc, "ranks", tmp_path_factory.mktemp(mpi.name))


@pytest.mark.parametrize("ending", ALONE)
def test_program_without_mpi(ending: str, alone: Path, tmp_path: Path, tailrace: list[str]) -> None:
    bare, seen = harness.prepare(tmp_path / "bare"), harness.prepare(tmp_path / "seen")
    commands = [[str(alone), str(place), ending, str(ALONE[ending])] for place in (bare, seen)]
    expected = harness.outcome(harness.run(commands[0], None), bare)
    process = harness.run(harness.captured(tailrace, tmp_path / "run", commands[1]), None)
    assert harness.outcome(process, seen) == expected, process.stderr
    found = harness.columns(tmp_path / "run")
    assert harness.calls(found, *harness.WRITES) == REPORTED.get(ending, ALONE[ending])
    assert int(found["capture"]["events"]) >= IN_TRACE.get(ending, ALONE[ending])
    assert int(found["capture"]["events_lost"]) == 0


@pytest.mark.parametrize("ending", ["finalize", "abort", "mpi_abort", "_exit", "exec"])
def test_ranks(ending: str, mpi: Mpi, ranks: Path, tmp_path: Path, tailrace: list[str]) -> None:
    seen = harness.prepare(tmp_path / "seen")
    command = mpi.launch(2, ranks, seen, ending, 1000)
    process = harness.run(harness.captured(tailrace, tmp_path / "run", command), mpi.variables())
    statuses, expected = bare_outcomes(mpi, ranks, ending, tmp_path, process.returncode)
    got = harness.outcome(process, seen)
    assert got.status in statuses, process.stderr
    assert got.files == expected.files
    assert program_lines(got) == program_lines(expected)
    found = harness.columns(tmp_path / "run")
    assert found["ranks"] == 2
    assert harness.calls(found, *harness.WRITES) == 2000


def bare_outcomes(mpi: Mpi, ranks: Path, ending: str, tmp_path: Path, status: int) -> tuple[set[int], harness.Outcome]:
    """Without capture, repeated where the status differs: Open MPI's mpiexec itself crashes on some aborts, and MPICH's
    joins the status of the rank that it killed to that of the one that aborted, but in one of ten runs only."""
    statuses: set[int] = set()
    for attempt in range(50):
        bare = harness.prepare(tmp_path / f"bare{attempt}")
        outcome = harness.outcome(harness.run(mpi.launch(2, ranks, bare, ending, 1000), mpi.variables()), bare)
        statuses.add(outcome.status)
        if status in statuses:
            break
    return statuses, outcome


def program_lines(outcome: harness.Outcome) -> list[str]:
    """Without what a launcher says of process ids and names when it reports an end that is not in order."""
    return [line for line in outcome.stdout if line.startswith(("rank ", "replaced "))]
