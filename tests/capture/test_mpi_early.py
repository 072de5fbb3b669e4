"""Libraries whose constructors call MPI before capture knows whether the process may record."""

from __future__ import annotations

import subprocess

from mpi_capture import HERE

RANKS = 3


def test_mpi_that_is_called_before_main_is_recorded_all_the_same(workplace, tmp_path):
    """What the calls contain is test_mpi_messages' matter."""
    programs, library = HERE / "programs", tmp_path / "libearly.so"
    subprocess.run([workplace.mpi.mpicc, "-shared", "-fPIC", "-o", library, programs / "early_library.c"], check=True)
    binary = tmp_path / "with_early"
    linked = ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([workplace.mpi.mpicc, "-o", binary, programs / "messages.c", *linked], check=True)
    run = workplace.run(tmp_path / "raw", RANKS, binary)
    assert "MPI calls are not recorded" not in run.stderr
    for rank in range(RANKS):
        functions = [call.function for call in run.ranks[rank].calls]
        assert functions[functions.index("MPI_Init") :].count("MPI_Ssend") == 1
        assert {"MPI_Sendrecv", "MPI_Recv", "MPI_Isend", "MPI_Waitall"} <= set(functions)
