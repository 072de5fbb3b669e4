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
# Calls that the process itself makes and that are recorded by default: a child without exec is not.
RECORDED = {"exec": 6 * 500, "fork": 2000, "spawn": 0, "threads": 64 * 500}


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
    assert harness.calls(found, *harness.WRITES) == RECORDED.get(ending, ALONE[ending])
    assert int(found["capture"]["events_lost"]) == 0


@pytest.mark.parametrize("ending", ["finalize", "abort", "mpi_abort", "_exit", "exec"])
def test_ranks(ending: str, mpi: Mpi, ranks: Path, tmp_path: Path, tailrace: list[str]) -> None:
    bare, seen = harness.prepare(tmp_path / "bare"), harness.prepare(tmp_path / "seen")
    commands = [mpi.launch(2, ranks, place, ending, 1000) for place in (bare, seen)]
    expected = harness.outcome(harness.run(commands[0], mpi.variables()), bare)
    process = harness.run(harness.captured(tailrace, tmp_path / "run", commands[1]), mpi.variables())
    got = harness.outcome(process, seen)
    assert (got.status, got.files) == (expected.status, expected.files), process.stderr
    assert program_lines(got) == program_lines(expected)
    found = harness.columns(tmp_path / "run")
    assert found["ranks"] == 2
    assert harness.calls(found, *harness.WRITES) == 2000


def program_lines(outcome: harness.Outcome) -> list[str]:
    """Without what a launcher says of process ids and names when it reports an end that is not in order."""
    return [line for line in outcome.stdout if line.startswith(("rank ", "replaced "))]
