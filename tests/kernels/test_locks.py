"""A file system without locks, on which MPI-IO's data sieving ends the program: gridio does without
sieving there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.kernels.conftest import LONGEST_RUN_S, Solver
from tests.kernels.formats_data import STEPS

SHARED = ("hdf5", "netcdf4", "pnetcdf", "cgns", "mpiio")
PAIRS = [
    (method, form) for form in SHARED for method in ("collective", "independent", "aggregated")
]


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("nolocks") / "nolocks.so"
    source = Path(__file__).with_name("nolocks.c")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, source, "-ldl"], check=True
    )
    return library


def run(solver: Solver, preload: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = solver.mpi.launch(3, "env", f"LD_PRELOAD={preload}", solver.build / "formats", *words)
    environment = solver.mpi.variables()
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LONGEST_RUN_S
    )


@pytest.mark.slow
@pytest.mark.sampled(apart=True)
@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_every_pair_does_without_locks(debian, preload, tmp_path, method, form):
    path = tmp_path / "output"
    written = run(debian, preload, "write", method, form, path, str(STEPS), "-1")
    assert written.returncode == 0, written.stderr
    assert "romio_ds_write=disable" in written.stdout
    read = run(debian, preload, "read", method, form, path, str(STEPS), "-1")
    assert read.returncode == 0, read.stderr


def test_with_locks_nothing_is_disabled(debian, tmp_path):
    written = debian.run(
        3, "write", "independent", "mpiio", tmp_path / "output", str(STEPS), "-1", program="formats"
    )
    assert "romio_ds_write=disable" not in written.stdout


def test_sieving_without_locks_is_one_sentence(debian, preload, tmp_path):
    hints = ("hints", "romio_ds_write=enable")
    refused = run(
        debian,
        preload,
        "write",
        "independent",
        "mpiio",
        tmp_path / "output",
        str(STEPS),
        "-1",
        *hints,
    )
    assert refused.returncode != 0
    assert "has no locks, which the hint romio_ds_write=enable needs" in refused.stderr
    assert list(tmp_path.iterdir()) == []
