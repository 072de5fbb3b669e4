"""CGNS files: the project's own serial library reads them, and its checker and its comparison find
nothing wrong."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.kernels.formats_data import STEPS, CgnsReader, check, read_back, whole_steps, write

SOURCES = Path(__file__).parent


@pytest.fixture(scope="session")
def cgns_tools() -> None:
    missing = [tool for tool in ("cgnscheck", "cgnsdiff") if not shutil.which(tool)]
    if missing or not Path("/usr/include/cgnslib.h").exists():
        pytest.skip(
            "Debian's cgns-convert and libcgns-dev are not installed: see tools/system-packages"
        )


def compile_with_libcgns(source: str, directory: Path, *options: str) -> Path:
    program = directory / source.removesuffix(".c")
    subprocess.run(["cc", "-Wall", *options, SOURCES / source, "-o", program, "-lcgns"], check=True)
    return program


@pytest.fixture(scope="session")
def serial_reader(cgns_tools, tmp_path_factory) -> CgnsReader:
    return CgnsReader(compile_with_libcgns("cgns_dump.c", tmp_path_factory.mktemp("cgns")))


@pytest.fixture(scope="session")
def serial_twin(cgns_tools, tmp_path_factory) -> Path:
    return compile_with_libcgns("pcgns_zones.c", tmp_path_factory.mktemp("twin"), "-DSERIAL")


def check_standard(path: Path) -> None:
    """No error, and only the warnings that every file without units in the standard's sense
    gets."""
    report = subprocess.run(["cgnscheck", path], capture_output=True, text=True, timeout=60).stdout
    assert "checking complete" in report, report
    usual = ("dataclass not given", "dataclass is not given", "not a CGNS data-name identifier")
    found = [
        line
        for line in report.splitlines()
        if line.startswith(("ERROR", "WARNING", "INTERNAL", "FATAL"))
    ]
    assert [line for line in found if not line.endswith(usual)] == []


# --- the format of gridio ---


@pytest.mark.parametrize("method", ["serial", "collective", "independent", "aggregated"])
def test_the_serial_library_reads_every_element(debian, serial_reader, tmp_path, method):
    path = tmp_path / "output.cgns"
    write(debian, 3, method, "cgns", path, empty=1)
    check_standard(path)
    check(serial_reader, path)
    read_back(debian, 2, method, "cgns", path)


def test_readers_see_the_steps(debian, serial_reader, tmp_path):
    path = tmp_path / "output.cgns"
    write(debian, 2, "collective", "cgns", path)
    steps = [line.split()[1:] for line in serial_reader.lines(path) if line.startswith("steps")]
    assert [zone for zone, *_ in steps] == ["Base3/Zone_5x7x6", "Base2/Zone_11x4", "Base2/Zone_7x6"]
    assert all(names == [f"Step{step:08d}" for step in range(STEPS)] for _, *names in steps)


def test_vertices_have_their_indices_as_coordinates(debian, serial_reader, tmp_path):
    path = tmp_path / "output.cgns"
    write(debian, 3, "collective", "cgns", path)
    arrays = serial_reader.arrays(path)
    z, y, x = np.indices((6, 8, 7), dtype="f4")
    for name, wanted in {"X": x, "Y": y, "Z": z}.items():
        np.testing.assert_array_equal(
            arrays[f"Base3/Zone_5x7x6/GridCoordinates/Coordinate{name}"], wanted
        )

    write(debian, 3, "collective", "cgns", tmp_path / "bare.cgns", "coordinates=none")
    assert not any("Coordinate" in name for name in serial_reader.arrays(tmp_path / "bare.cgns"))


def test_a_killed_run_leaves_whole_steps(debian, serial_reader, tmp_path):
    path = tmp_path / "output.cgns"
    assert (
        debian.run(3, "die", "independent", "cgns", path, STEPS, -1, program="formats").returncode
        != 0
    )
    check(
        serial_reader,
        path.with_suffix(".cgns.partial"),
        whole_steps("cgns", path.with_suffix(".cgns.partial")),
    )


# --- the parallel calls ---


def zones(solver, ranks: int, *arguments: str | Path) -> None:
    run = solver.run(ranks, *arguments, program="pcgns_zones")
    assert run.returncode == 0, run.stderr


@pytest.mark.sampled
@pytest.mark.parametrize("ranks", [1, 3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", ["independent", "collective"])
def test_a_zone_per_rank_is_what_the_serial_library_writes(
    debian, serial_twin, tmp_path, mode, ranks
):
    parallel, serial = tmp_path / "parallel.cgns", tmp_path / "serial.cgns"
    zones(debian, ranks, "write", parallel, mode)
    subprocess.run([serial_twin, "write", serial, str(ranks)], check=True)
    same_nodes(parallel, serial)
    check_standard(parallel)
    zones(debian, ranks, "read", parallel, mode)
    zones(debian, ranks, "read", serial, mode)


def test_one_zone_over_all_ranks_is_what_the_serial_library_writes(debian, serial_twin, tmp_path):
    parallel, serial = tmp_path / "parallel.cgns", tmp_path / "serial.cgns"
    zones(debian, 4, "write", parallel, "shared")
    subprocess.run([serial_twin, "write", serial, "1"], check=True)
    same_nodes(parallel, serial)


def same_nodes(left: Path, right: Path) -> None:
    """Names, labels, types, sizes and data of all nodes."""
    compared = subprocess.run(
        ["cgnsdiff", "-d", left, right], capture_output=True, text=True, timeout=60
    )
    assert (compared.stdout, compared.stderr) == ("", "")


def test_what_cannot_be_is_refused_on_all_ranks(debian, tmp_path):
    zones(debian, 3, "fail", tmp_path / "output.cgns")


# --- planted faults ---


def test_one_element_lost_is_seen(debian, serial_reader, tmp_path):
    path = tmp_path / "output.cgns"
    write(debian, 2, "collective", "cgns", path)
    with h5py.File(path, "r+") as file:
        file["Base3/Zone_5x7x6/Step00000001/ozone/ data"][4, 6, 5] = 0
    with pytest.raises(AssertionError, match="ozone at step 1"):
        check(serial_reader, path)


def test_one_element_changed_is_seen_by_the_comparison(debian, serial_twin, tmp_path):
    parallel, serial = tmp_path / "parallel.cgns", tmp_path / "serial.cgns"
    zones(debian, 2, "write", parallel, "independent")
    subprocess.run([serial_twin, "write", serial, "2"], check=True)
    with h5py.File(parallel, "r+") as file:
        file["Base/Zone1/Cells/Pressure/ data"][0, 1, 2] += 1
    with pytest.raises(AssertionError):
        same_nodes(parallel, serial)
