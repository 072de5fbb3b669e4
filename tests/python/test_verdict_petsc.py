"""What is advised where libraries on top of files make the calls: PETSc's viewers, and one rank
that writes a file for each output. Every run is built by arithmetic."""

from __future__ import annotations

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.requests import KINDS

from .columns import SECOND, Interval, Program, mpi, useful, write

PETSC, MODEL = "/usr/lib/libpetsc_real.so.3.18.5", "/home/model"
VIEWER = [("PetscViewerASCIIPrintf", PETSC), ("VecView", PETSC), ("main", MODEL)]
# PETSc calls the program back, for what it prints of each step.
MONITOR = [("print_step", MODEL), ("TSSolve", PETSC), ("main", MODEL)]
HDF5_VIEWER = [("H5FD_write", "/usr/lib/libhdf5.so.103"), *VIEWER[1:]]
BY_MPIIO = [("PMPI_File_write_at_all", "/usr/lib/libmpi.so.40"), *VIEWER[1:]]


def writer(data: list[Interval], path: list[tuple[str, str]]) -> dict[str, Finding]:
    """Rank 0 writes while rank 1 waits; all of it is called in one way."""
    spent = sum(interval.length_ns for interval in data)
    rows = [[useful(4 * SECOND), *data], [useful(4 * SECOND), mpi(spent)]]
    whole = 4 * SECOND + spent
    columns = Program(rows, whole, whole - spent // 2, 4 * SECOND).columns()
    files = range(len(columns["files"]["path"]))
    frames = {"function": [name for name, _ in path], "module": [module for _, module in path]}
    frames |= {"source": [""] * len(path), "line": [0] * len(path)}
    counts = [*(calls for calls, _ in KINDS.values()), *(f"{kind}_ns" for kind in KINDS)]
    none = {name: [0 for _ in files] for name in (*counts, "bytes_read", "bytes_written")}
    table = none | {"file": list(files), "path": [0 for _ in files], "cut": [False]}
    table |= {"write_ns": [SECOND for _ in files], "paths": [list(range(len(path)))]}
    columns["places"] = table | {"frames": frames}
    return {finding.code.value: finding for finding in judge(Evidence(columns)).findings}


@pytest.mark.parametrize(
    ("path", "advised"),
    [(VIEWER, "PETSc's viewers of text flush each line"), (MONITOR, "flush where someone waits")],
)
def test_flushes_of_petscs_own_are_not_the_programs(path: list[tuple[str, str]], advised: str):
    lines = Interval("io", 2 * SECOND, "fflush", b"/run/x.txt", 8 * 40_000, 40_000, "stdio")
    found = writer([lines], path)["small_requests"]
    assert found.finding.startswith("40,000 flushes of 8 B on average")
    assert found.advice.startswith(advised)


@pytest.mark.parametrize(
    ("path", "advised"),
    [
        (VIEWER, "-viewer_binary_mpiio"),
        (MONITOR, "MPI_File_write_at_all"),
        (HDF5_VIEWER, "H5Pset_fapl_mpio"),
        (BY_MPIIO, "let all ranks write"),
    ],
)
def test_the_only_writer_is_advised_in_the_terms_of_who_writes(
    path: list[tuple[str, str]], advised: str
):
    found = writer([write(SECOND, b"/run/x", 10**9, 100)], path)["serial_writer"]
    assert advised in found.advice


@pytest.mark.parametrize(
    ("names", "advised"),
    [
        ((b"/run/1.nc", b"/run/2.nc", b"/run/3.nc"), "let all ranks write: nc_create_par"),
        ((b"/run/1.nc", b"/run/2.nc", b"/run/3.h5"), "let all ranks write: MPI_File_write_at_all"),
    ],
)
def test_files_of_one_library_are_advised_about_as_one_file_is(
    names: tuple[bytes, ...], advised: str
):
    """As models do that write a file for each output."""
    outputs = [write(SECOND, name, 10**9, 100) for name in names]
    found = writer(outputs, [("output", MODEL), ("main", MODEL)])["serial_writer"]
    assert found.finding == "rank 0 writes 3 files alone while the other rank waits"
    assert found.advice.startswith(advised)
