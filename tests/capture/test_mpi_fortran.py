"""The three Fortran bindings record what C records; the calls are those of programs/bindings.inc,
on 3 ranks."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from mpi_capture import HERE

INTEGER, DOUBLE = 4, 8
RANKS = 3
BINDINGS = ["mpif.f90", "use_mpi.f90", "use_mpi_f08.f90"]


@pytest.fixture
def fortran(workplaces):
    workplace = workplaces("system-openmpi")
    compiler = workplace.mpi.mpifort
    if not compiler or not shutil.which(compiler):
        pytest.skip("there is no Fortran compiler wrapper of the system's Open MPI")
    return workplace


@pytest.fixture(params=BINDINGS)
def run(request, fortran, tmp_path):
    return fortran.run(tmp_path / "raw", RANKS, fortran.compile(request.param), tmp_path / "file")


def test_messages(run):
    for rank in range(RANKS):
        left, right = (rank - 1) % RANKS, (rank + 1) % RANKS
        assert run.words(rank, "MPI_Irecv") == [
            [0, -2, 7, 8 * INTEGER, 1, -2, -1],
            [0, left, 8, INTEGER, 1, -2, -1],
        ]
        assert run.words(rank, "MPI_Isend") == [[0, right, 7, 2 * INTEGER, 0, 1]]
        assert run.words(rank, "MPI_Waitall") == [[0, 2, 2, left, 7, 1, -2, -1]]
        assert run.words(rank, "MPI_Waitany") == [[0, 1, 1, -2, -1]]
        assert run.words(rank, "MPI_Recv") == [[0, -2, -1, 4 * INTEGER, 0, left, 9]]


def test_collectives_and_communicators(run):
    for rank, stream in enumerate(run.ranks):
        (half,) = (words[0] for words in run.words(rank, "MPI_Allreduce"))
        assert stream.communicators[half].members == [
            member for member in range(RANKS) if member % 2 == rank % 2
        ]
        assert run.words(rank, "MPI_Allreduce") == [[half, 0, -1, 4 * DOUBLE, 4 * DOUBLE, 0]]
        assert run.words(rank, "MPI_Allgather") == [[0, 0, -1, 0, RANKS * INTEGER, 0]]


def test_files(run, tmp_path):
    for rank in range(RANKS):
        (opened,) = run.calls(rank, "MPI_File_open")
        assert opened.path == str(tmp_path / "file").encode()  # without the blanks behind it
        assert run.words(rank, "MPI_File_write_at_all") == [
            [3, 1 | 2, opened.words[2], 16, 16 * rank, 0, 0]
        ]
        assert run.words(rank, "MPI_File_close") == [[1, 2, opened.words[2], 0, 0, 0, 0]]


def test_each_call_is_recorded_once(run):
    """Where the binding calls C's functions, those are part of the Fortran call."""
    for stream in run.ranks:
        nested = [
            call.function
            for call in stream.calls
            if call.layer <= 1 and call.parent and call.parent.layer <= 1
        ]
        assert not nested


def test_questions_are_counted_once(run):
    """Likewise where the binding asks C's functions."""
    for stream in run.ranks:
        assert (stream.asked("MPI_Comm_rank"), stream.asked("MPI_Comm_size")) == (1, 1)


def test_an_error_code_may_be_left_out(fortran, tmp_path):
    """mpi_f08's error argument is optional: the wrapper gets a null address."""
    program = fortran.folder / "without_error.f90"
    calls = re.sub(
        r", error\)|\(error\)",
        lambda found: ")" if found[0][0] == "," else "()",
        _text("bindings.inc"),
    )
    program.write_text(_text("use_mpi_f08.f90").replace("  include 'bindings.inc'\n", calls))
    binary = program.with_suffix("")
    subprocess.run([fortran.mpi.mpifort, "-o", binary, program], check=True)
    run = fortran.run(tmp_path / "raw", RANKS, binary, tmp_path / "file")
    assert [words[3] for words in run.words(0, "MPI_Isend")] == [2 * INTEGER]


def _text(name: str) -> str:
    return (HERE / "programs" / name).read_text()
