"""Planted faults: one element of a real output is flipped, lost, or swapped with another, and
verification must say in which file, variable and step. And what a run says when it cannot be right.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

from tailrace.bench import records, verify
from tailrace.bench.readers.raw import RawFile

from .bench_runs import Bench

STEP, VARIABLE = 1, "temp"
PLACE, OTHER = (2, 3, 5), (1, 7, 4)
Change = Callable[[np.ndarray], None]


def flip(values: np.ndarray) -> None:
    """The lowest bit of one element."""
    values.view(np.uint64)[PLACE] ^= 1


def zero(values: np.ndarray) -> None:
    values[PLACE] = 0


def swap(values: np.ndarray) -> None:
    values[PLACE], values[OTHER] = values[OTHER], values[PLACE]


def change_raw(path: Path, change: Change) -> None:
    variable = RawFile(path).variables[VARIABLE]
    offset = variable.first_step + STEP * variable.step_bytes + variable.offset_bytes
    change(np.memmap(path, variable.dtype, "r+", offset, variable.shape))


def change_netcdf(path: Path, change: Change) -> None:
    with netCDF4.Dataset(path, "r+") as data:
        data.set_auto_maskandscale(False)
        values = data[VARIABLE][STEP]
        change(values)
        data[VARIABLE][STEP] = values


def change_hdf5(path: Path, change: Change) -> None:
    with h5py.File(path, "r+") as data:
        values = data[VARIABLE][STEP]
        change(values)
        data[VARIABLE][STEP] = values


def change_cgns(path: Path, change: Change) -> None:
    with h5py.File(path, "r+") as data:
        found = [
            node[f"Step{STEP:08d}/{VARIABLE}/ data"]
            for node in data["Base3"].values()
            if _has(node)
        ]
        assert len(found) == 1
        values = found[0][...]
        change(values)
        found[0][...] = values


def _has(node: h5py.Group) -> bool:
    return f"Step{STEP:08d}/{VARIABLE}" in node


WRITERS = {
    ("independent", "posix"): change_raw,
    ("collective", "mpiio"): change_raw,
    ("serial", "netcdf3"): change_netcdf,
    ("independent", "netcdf4"): change_netcdf,
    ("collective", "pnetcdf"): change_netcdf,
    ("collective", "hdf5"): change_hdf5,
    ("serial", "cgns"): change_cgns,
}


def ignore(_bytes: int, _where: str) -> None:
    """Nobody watches."""


def output_of(
    bench: Bench, method: str, format_: str, ranks: int = 2
) -> tuple[Path, records.Records]:
    """The history file of a kept run, which is right so far, and the run's records."""
    bench.need(method, format_)
    options = ("--size", "tiny", "--method", method, "--format", format_, "--keep")
    folder = Path(bench.answer("roms", *options, ranks=ranks)["runs"][0]["files"])
    seen = records.read(folder / "records")
    assert verify.verify(seen, ignore).differences == []
    return next(path for path in folder.iterdir() if path.name.startswith("ocean_his")), seen


@pytest.mark.parametrize("pair", WRITERS, ids=lambda pair: "-".join(pair))
def test_one_wrong_element_is_told_with_file_variable_and_step(
    bench: Bench, pair: tuple[str, str]
) -> None:
    path, seen = output_of(bench, *pair)
    good = path.with_name("good")
    shutil.copy(path, good)
    for change in (flip, zero, swap):
        WRITERS[pair](path, change)
        differences = verify.verify(seen, ignore).differences
        assert [
            (difference.file, difference.variable, difference.step) for difference in differences
        ] == [(str(path), VARIABLE, STEP)], change
        shutil.copy(good, path)
    assert verify.verify(seen, ignore).differences == []


def test_one_wrong_element_in_one_ranks_file(bench: Bench) -> None:
    path, seen = output_of(bench, "file-per-rank", "posix", ranks=4)
    part = sorted(path.iterdir())[3]
    variable = RawFile(part).variables[VARIABLE]
    offset = variable.first_step + STEP * variable.step_bytes + variable.offset_bytes
    np.memmap(part, variable.dtype, "r+", offset, variable.shape)[0, 0, 0] += 1
    differences = verify.verify(seen, ignore).differences
    assert [
        (difference.file, difference.variable, difference.step) for difference in differences
    ] == [(str(path), VARIABLE, STEP)]
    part.unlink()
    assert {difference.variable for difference in verify.verify(seen, ignore).differences} >= {
        VARIABLE,
        "zeta",
        "u",
        "w",
    }


def test_a_cell_of_btio_in_anothers_place(bench: Bench) -> None:
    """Mode epio: two ranks' files are exchanged, so that every element is there and none where it
    belongs."""
    options = (
        "--size",
        "tiny",
        "--method",
        "file-per-rank",
        "--format",
        "posix",
        "--keep",
        "--set",
        "points=12",
    )
    folder = Path(bench.answer("btio", *options, ranks=4)["runs"][0]["files"])
    seen = records.read(folder / "records")
    assert verify.verify(seen, ignore).differences == []
    first, other = folder / "solution.grid.0001", folder / "solution.grid.0002"
    first.rename(folder / "kept")
    other.rename(first)
    (folder / "kept").rename(other)
    assert {found.step for found in verify.verify(seen, ignore).differences} == {0, 1}


def test_a_file_that_is_cut_short_or_gone(bench: Bench) -> None:
    path, seen = output_of(bench, "serial", "posix")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 8)
    problems = [difference.problem for difference in verify.verify(seen, ignore).differences]
    assert len(problems) == 1
    assert "cannot be read" in problems[0]
    path.unlink()
    assert any(
        "there is no such file" in difference.problem
        for difference in verify.verify(seen, ignore).differences
    )


def test_a_step_that_does_not_count_as_whole(bench: Bench) -> None:
    path, seen = output_of(bench, "serial", "posix")
    text = path.read_bytes()
    path.write_bytes(text.replace(b"steps 00000000000000000003", b"steps 00000000000000000002", 1))
    found = [
        (difference.step, difference.problem)
        for difference in verify.verify(seen, ignore).differences
    ]
    assert found == [(2, "the file says that 2 steps are whole")]


def test_a_variable_of_another_type(bench: Bench) -> None:
    path, seen = output_of(bench, "serial", "netcdf3")
    with netCDF4.Dataset(path, "r+") as data:
        data.renameVariable(VARIABLE, "was")
        data.createVariable(VARIABLE, "f4", data["was"].dimensions)[:] = data["was"][:]
        data[VARIABLE].setncattr("gridio_every_step", np.int32(1))
    found = {
        (difference.variable, difference.problem)
        for difference in verify.verify(seen, ignore).differences
    }
    assert found == {(VARIABLE, "it is stored as float32, and should be float64")}


def test_a_step_without_fingerprint_is_not_called_verified(bench: Bench) -> None:
    _, seen = output_of(bench, "serial", "posix")
    seen.of_kind["fingerprint"] = [record for record in seen["fingerprint"] if record["step"] != 2]
    assert {difference.problem for difference in verify.verify(seen, ignore).differences} == {
        "it has no fingerprint"
    }
