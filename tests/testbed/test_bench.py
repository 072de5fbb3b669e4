"""Tailrace's own kernels on the beds: real MPI programs, every element read back and verified by
`tailrace bench`."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailrace
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


def test_reads_where_a_classic_file_ends_belong_to_writing(
    built: object, mounted: Mounted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """netCDF looks for each page before it fills it. The file system answers once all that was
    written has arrived, as another node may have made the file longer."""
    monkeypatch.setenv("TAILRACE_CACHE", str(CACHE))
    for key, value in mounted.environment.items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(tmp_path)
    bench = Bench(built[0], mounted.here, built[1])
    bench.need("serial", "netcdf3")
    options = ("--method", "serial", "--format", "netcdf3", "--set", "steps=2", "--capture")
    bench.answer("wrf", "--size", "small", *options, ranks=2)
    [trace] = tmp_path.rglob("*.tailrace")
    said = [found.finding for found in tailrace.open(trace).findings]
    is_said = any("reads that find nothing" in each and "has arrived" in each for each in said)
    assert is_said, said
    assert any(each.startswith("rank 0 writes") for each in said)
    assert not any("rank 0 reads" in each for each in said)
