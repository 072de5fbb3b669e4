"""zones: what the parallel CGNS calls and gridio leave, read by h5py and CGNS's own checker."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.kernels.history import History
from tests.kernels.programs import fingerprint, good_run, run_plan

POINTS = 6
PLAN = """
    points 6
    fields 2
    iterations 2
    {more}
    {kind} zones
    path {{directory}}/{name}
"""
ARRAYS = ["CoordinateX", "CoordinateY", "CoordinateZ", "Density", "VelocityX"]


def values(array: str, zone: int, iteration: int, dtype: str) -> np.ndarray:
    """kernels/zones/values.c, value_at(); [k, j, i]."""
    w, y, x = np.meshgrid(*[np.arange(POINTS) / POINTS] * 3, indexing="ij")
    number = ARRAYS.index(array)
    if number >= 3:
        field = 1 + x * y + 0.5 * w * (number + x) + 0.01 * zone + iteration
    else:
        own = (x, y, w)[number]
        field = own + 0.05 * x * y * w + (zone if number == 0 else 0) + 0.001 * iteration
    return field.astype(dtype)


def cgns_array(file: h5py.File, zone: int, array: str) -> np.ndarray:
    folder = "GridCoordinates" if array.startswith("Coordinate") else "FlowSolution"
    return file[f"Base/Zone{zone + 1:06d}/{folder}/{array}/ data"][...]


def assert_cgnscheck_finds_no_error(path: Path) -> None:
    if not shutil.which("cgnscheck"):
        pytest.skip("there is no cgnscheck: see tools/system-packages")
    answer = subprocess.run(["cgnscheck", path], capture_output=True, text=True)
    assert "checking complete" in answer.stdout
    assert "ERROR" not in answer.stdout


@pytest.mark.sampled
@pytest.mark.parametrize("ranks", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4))])
@pytest.mark.parametrize("access", ["independent", "collective"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_zone_for_every_rank(debian, tmp_path, access, kind, ranks):
    plan = PLAN.format(more=f"type {kind}\naccess {access}", kind="output", name="zones.cgns")
    run = good_run(debian, "zones", ranks, plan, tmp_path)
    with h5py.File(tmp_path / "zones.cgns") as file:
        assert sum(name.startswith("Zone") for name in file["Base"]) == ranks
        for zone in range(ranks):
            for array in ARRAYS:
                stored = cgns_array(file, zone, array)
                assert stored.dtype == kind
                np.testing.assert_array_equal(stored, values(array, zone, 1, kind))
    assert_cgnscheck_finds_no_error(tmp_path / "zones.cgns")
    steps = run.of("step", stream="zones")
    assert [record["bytes"] for record in steps] == [
        ranks * 5 * POINTS**3 * (4 if kind == "float32" else 8)
    ] * 2
    assert all(min(record["define_s"]) > 0 and min(record["write_s"]) > 0 for record in steps)


def test_its_fingerprints_are_those_of_the_file(debian, tmp_path):
    plan = PLAN.format(more="", kind="output", name="zones.cgns")
    run = good_run(debian, "zones", 3, plan, tmp_path)
    (record,) = run.of("fingerprint", step=1)
    assert len(record["values"]) == 15
    with h5py.File(tmp_path / "zones.cgns") as file:
        for place, value in record["values"].items():
            assert value == fingerprint(file[f"{place}/ data"][...]), place


@pytest.mark.sampled
@pytest.mark.parametrize(
    "ranks", [3, 9, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4))]
)
@pytest.mark.parametrize("access", ["independent", "collective"])
def test_a_block_is_read_by_all(debian, tmp_path, access, ranks):
    """With more ranks than points along the last dimension, some read nothing."""
    prepare = PLAN.format(more="operation prepare", kind="output", name="block.cgns")
    good_run(debian, "zones", 2, prepare, tmp_path)
    read = PLAN.format(more=f"operation read\naccess {access}", kind="input", name="block.cgns")
    run = good_run(debian, "zones", ranks, read, tmp_path)
    assert [record["ok"] for record in run.of("check")] == [True]
    for array in ARRAYS:
        folder = "GridCoordinates" if array.startswith("Coordinate") else "FlowSolution"
        expected = fingerprint(values(array, 0, 0, "float64"))
        assert run.fingerprint("zones", f"Base/Zone000001/{folder}/{array}", 1, "read") == expected


def test_a_block_with_one_changed_element_is_noticed(debian, tmp_path):
    good_run(
        debian,
        "zones",
        2,
        PLAN.format(more="operation prepare", kind="output", name="block.cgns"),
        tmp_path,
    )
    with h5py.File(tmp_path / "block.cgns", "r+") as file:
        file["Base/Zone000001/FlowSolution/Density/ data"][5, 5, 5] += 1e-15
    run = run_plan(
        debian,
        "zones",
        3,
        PLAN.format(more="operation read", kind="input", name="block.cgns"),
        tmp_path,
    )
    assert run.status == 1
    assert (
        "zones: " in run.stderr
        and "does not hold the block that the plan says\n\nhint: " in run.stderr
    )
    assert [record["ok"] for record in run.of("check")] == [False]


@pytest.mark.parametrize("ranks", [1, 3])
def test_zones_through_gridio(one_solver, tmp_path, ranks):
    more = "interface gridio"
    plan = PLAN.format(more=more, kind="output", name="zones") + "method collective"
    run = good_run(one_solver, "zones", ranks, plan, tmp_path)
    history = History(tmp_path / "zones")
    for array in ARRAYS:
        stored = history.read(array)
        assert stored.shape == ((ranks,) if ranks > 1 else ()) + (POINTS,) * 3
        expected = np.stack([values(array, zone, 1, "float64") for zone in range(ranks)])
        np.testing.assert_array_equal(stored, expected.reshape(stored.shape))
        assert run.fingerprint("zones", array, 1) == fingerprint(stored)


def test_a_block_through_gridio(one_solver, tmp_path):
    prepare = PLAN.format(more="interface gridio\noperation prepare", kind="output", name="block")
    read = PLAN.format(more="interface gridio\noperation read", kind="input", name="block")
    good_run(one_solver, "zones", 1, prepare, tmp_path)
    run = good_run(one_solver, "zones", 4, read, tmp_path)
    assert [record["ok"] for record in run.of("check")] == [True]
    assert len(run.of("step", direction="read")) == 2
    contents = bytearray((tmp_path / "block").read_bytes())
    contents[-1] ^= 1
    (tmp_path / "block").write_bytes(contents)
    assert run_plan(one_solver, "zones", 4, read, tmp_path).status == 1


def test_without_parallel_hdf5_the_calls_are_refused_in_a_sentence(one_solver, tmp_path):
    """MPICH's wheel has no parallel HDF5 beside it."""
    run = run_plan(
        one_solver, "zones", 2, PLAN.format(more="", kind="output", name="zones.cgns"), tmp_path
    )
    assert run.status == 1
    assert re.search(
        r"^zones: this build has no parallel CGNS, .*[^.]\n\nhint: ", run.stderr, re.MULTILINE
    )


def test_a_directory_that_is_not_there(debian, tmp_path):
    plan = PLAN.format(more="", kind="output", name="absent/zones.cgns")
    run = run_plan(debian, "zones", 3, plan, tmp_path)
    assert run.status == 1
    assert re.search(
        r"^zones: cannot open '.*/absent/zones\.cgns': \w.*[^.]$", run.stderr, re.MULTILINE
    )
    assert run.stderr.count("zones: ") == 1
