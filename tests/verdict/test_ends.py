"""Ranks that end early, in programs that really run: what is said of them, and what cannot be said
of the others."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import Mpi

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

HERE = Path(__file__).parent


def ended(how: str, mpi: Mpi, folder: Path) -> Run:
    binary = folder / "ended"
    subprocess.run([mpi.mpicc, "-O1", "-o", binary, HERE / "ended.c"], check=True)
    run, _ = captured([*mpi.launch(2, binary), how], folder, mpi.variables(), any_status=True)
    return run


def test_what_a_killed_rank_did_last_is_not_known(mpi: Mpi, tmp_path: Path):
    """Rank 1 computes longest, but the last that was seen of it is the first barrier, 0.2 s before
    rank 0 comes to the second one, which is the last that is known of the run."""
    run = ended("killed", mpi, tmp_path)
    # MPICH's launcher kills the other rank as well.
    said = r"stopped early by SIGKILL|(rank 1 was|both ranks were) killed, or ended by abort"
    assert re.search(said, run.headline), run.headline
    assert "what rank 1 did in the last" in run.headline
    assert list(run.columns["rank"]["ended"])[1] == "unknown"
    unknown_ns = run.columns["rank"]["unknown_ns"]
    assert unknown_ns[1] >= 150_000_000
    findings = [finding.finding for finding in run.findings]
    assert not any("computes" in text and "at least" not in text for text in findings), findings
    assert "nothing else does either" not in run.headline


def test_the_rank_that_called_abort_is_named(mpi: Mpi, tmp_path: Path):
    run = ended("abort", mpi, tmp_path)
    assert "rank 1 called MPI_Abort" in run.headline
    assert list(run.columns["rank"]["ended"])[1] == "aborted"
    assert run.columns["rank"]["unknown_ns"][1] == 0


def test_the_rank_that_others_were_ended_for_is_named(mpi: Mpi, tmp_path: Path):
    """Rank 1 ends by itself with status 2, and the launcher ends rank 0, which waits for it."""
    run = ended("left", mpi, tmp_path)
    assert list(run.columns["rank"]["ended"]) == ["unknown", "left"]
    said = "rank 1 ended without MPI_Finalize, and rank 0 was killed, or ended by abort"
    assert said in run.headline


@pytest.mark.parametrize("how", ["regularly", "exit"])
def test_a_rank_that_reached_its_end_is_not_called_killed(how: str, mpi: Mpi, tmp_path: Path):
    run = ended(how, mpi, tmp_path)
    assert "killed" not in run.headline
    assert list(run.columns["rank"]["ended"]) == ["known", "known"]
    assert not any(run.columns["rank"]["unknown_ns"])
