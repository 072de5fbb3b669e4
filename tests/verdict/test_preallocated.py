"""MPI_File_preallocate, for which one rank writes and the others wait."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import Mpi, without_processor_waits

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]


def ran(kind: str, mpi: Mpi, folder: Path) -> Run:
    binary = folder / "preallocated"
    source = Path(__file__).with_name("preallocated.c")
    subprocess.run([mpi.mpicc, "-O1", "-o", binary, source], check=True)
    command = mpi.launch(3, binary, kind, folder / "field.dat")
    return without_processor_waits(captured(command, folder, mpi.variables())[0])


def test_what_writes_for_all_is_named(mpi: Mpi, tmp_path: Path):
    run = ran("large", mpi, tmp_path)
    said = (
        r"MPI_File_preallocate, which (writes 31\d MB of|allocates) field\.dat"
        r" on rank 0 while 2 ranks wait, takes [\d.]+ % of the I/O time"
    )
    assert re.search(said, run.headline), run.headline
    found = {finding.code: finding for finding in run.findings}
    assert "leave MPI_File_preallocate out" in found["preallocation"].advice
    assert not {"serial_writer", "few_aggregators", "amplification"} & set(found)
    assert not any("write_at_all" in finding.advice for finding in run.findings)


def test_each_rank_that_preallocates_a_file_of_its_own_makes_no_other_wait(
    mpi: Mpi, tmp_path: Path
):
    """Three files of 300 MiB."""
    run = ran("own", mpi, tmp_path)
    said = r"MPI_File_preallocate, which (writes 944 MB of|allocates) 3 files, takes [\d.]+ % of"
    assert re.search(said, run.headline), run.headline
    (room,) = [finding for finding in run.findings if finding.code == "preallocation"]
    assert not room.ranks


def test_ranks_that_write_as_much_are_not_uneven_where_one_preallocates(mpi: Mpi, tmp_path: Path):
    """Each writes 100 MiB, and one of them the first 60 MiB before that: a third of what is written
    there in all is its part without these, and two fifths with them."""
    run = ran("evenly", mpi, tmp_path)
    codes = {finding.code for finding in run.findings}
    assert not {"uneven_bytes", "uneven_calls", "straggler", "serial_writer"} & codes, run.headline
    assert not re.search("preallocate, which .* on rank", run.headline), run.headline


def test_other_writes_that_ranks_wait_for_in_it_are_not_blamed_on_it(mpi: Mpi, tmp_path: Path):
    run = ran("beside", mpi, tmp_path)
    codes = {finding.code for finding in run.findings}
    # Nor is what rank 0 writes by itself what MPI-IO made of what it was asked for.
    assert not {"preallocation", "amplification"} & codes
    assert {"serial_writer", "few_aggregators"} & codes, run.headline
