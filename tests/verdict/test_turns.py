"""Ranks that take turns on a file, or do not, while they do other I/O beside it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import Mpi, without_processor_waits

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]


def ran(kind: str, mpi: Mpi, folder: Path) -> Run:
    binary = folder / "turns"
    source = Path(__file__).with_name("turns.c")
    subprocess.run([mpi.mpicc, "-O1", "-o", binary, source], check=True)
    files = folder / "files"
    files.mkdir()
    run, _ = captured(mpi.launch(4, binary, kind, files), folder, mpi.variables())
    return without_processor_waits(run)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("token", "ranks write shared.dat one after another"),
        ("beside", "3 of 4 ranks write shared.dat one after another"),
    ],
)
def test_turns_are_named_whatever_else_is_written_meanwhile(
    kind: str, text: str, mpi: Mpi, tmp_path: Path
):
    run = ran(kind, mpi, tmp_path)
    assert f": {text}" in run.headline
    (turns,) = [finding for finding in run.findings if finding.code == "taking_turns"]
    assert "baton" in turns.advice
    assert Path(turns.file).name == "shared.dat"


def test_ranks_that_write_together_take_no_turns(mpi: Mpi, tmp_path: Path):
    run = ran("together", mpi, tmp_path)
    assert "one after another" not in "\n".join([run.headline, *(f.finding for f in run.findings)])
