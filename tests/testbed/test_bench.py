"""Tailrace's own kernels on the beds: real MPI programs, every element read back and verified by
`tailrace bench`."""

from __future__ import annotations

import pytest

from tests.python.bench_runs import CACHE, Bench, built
from tests.testbed.conftest import Mounted

pytestmark = pytest.mark.slow
__all__ = ["built"]


@pytest.mark.parametrize(
    "workload,method,format_",
    [
        ("h5perf", "collective", "mpiio"),
        ("h5perf", "independent", "hdf5"),
        ("roms", "serial", "netcdf4"),
        ("cgns", "independent", "cgns"),
    ],
)
def test_every_byte_of_four_ranks(
    built: object,
    mounted: Mounted,
    monkeypatch: pytest.MonkeyPatch,
    workload: str,
    method: str,
    format_: str,
) -> None:
    monkeypatch.setenv("TAILRACE_CACHE", str(CACHE))
    for key, value in mounted.environment.items():
        monkeypatch.setenv(key, value)
    bench = Bench(built[0], mounted.here, built[1])
    bench.need(method, format_)
    answer = bench.answer(
        workload, "--size", "tiny", "--method", method, "--format", format_, ranks=4
    )
    [run] = answer["runs"]
    assert run["verification"]["ok"] is True
    assert all(
        found["bytes_read"] > 0 and not found["differences"]
        for found in run["verification"]["passes"]
    )
