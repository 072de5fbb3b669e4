"""gridio says what it has, what lists it again agrees, and a format is one file and one line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tailrace.bench import gridio
from tests.conftest import ROOT, find_mpi
from tests.kernels.conftest import Solver
from tests.kernels.history import History

README = ROOT / "kernels" / "README.md"


def info(build: Path) -> dict:
    return json.loads(subprocess.check_output([build / "gridio-info"], text=True))


def test_the_table_is_what_gridio_says(debian: Solver):
    """Otherwise: python tools/gridio_table.py"""
    assert json.loads(gridio.TABLE.read_text()) == info(debian.build)


def test_a_build_without_libraries_names_what_it_lacks(one_solver: Solver):
    formats = {format_["name"]: format_ for format_ in info(one_solver.build)["formats"]}
    assert formats["posix"]["available"]
    assert list(formats) == [format_["name"] for format_ in json_formats()]
    if formats["hdf5"]["available"]:
        pytest.skip("the libraries for this MPI are installed")
    assert formats["hdf5"] == {
        "name": "hdf5",
        "available": False,
        "library": "parallel HDF5",
        "packages": "libhdf5-openmpi-dev",
    }


def json_formats() -> list[dict]:
    return json.loads(gridio.TABLE.read_text())["formats"]


def test_the_readme_has_every_pair_and_every_setting():
    text = README.read_text()
    rows = {cells[0]: cells[2:] for cells in table(text, "| method | which ranks")}
    assert list(rows) == [f"`{method}`" for method in gridio.METHODS]
    for method, cells in zip(gridio.METHODS, rows.values(), strict=True):
        # a number refers to the note that says why not
        allowed = [not cell.isdigit() for cell in cells]
        assert allowed == [gridio.possible(method, name) for name in gridio.FORMATS], method
    told = json.loads(gridio.TABLE.read_text())
    everything = [*told["methods"], *(f for f in told["formats"] if not f["for_tests"])]
    for name in {name for each in everything for name in each["settings"]}:
        assert f"`{name}`" in text


def table(text: str, head: str) -> list[list[str]]:
    """The rows of the Markdown table that begins with this head."""
    lines = text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_format_is_one_file_and_one_line(tmp_path: Path):
    """As kernels/README.md says: here the file is the posix format under another name."""
    kernels, build, mpi = tmp_path / "kernels", tmp_path / "build", find_mpi("mpich")
    shutil.copytree(ROOT / "kernels", kernels)
    source = (kernels / "gridio" / "format_posix.c").read_text()
    source = source.replace("gridio_posix", "gridio_example").replace('"posix"', '"example"')
    source = source.replace('".grid"', '".example"')
    (kernels / "gridio" / "format_example.c").write_text(source)
    registry = kernels / "gridio" / "registry.c"
    line = "    FORMAT(dummy, none)"
    before = registry.read_text()
    assert before.count(line) == 1
    registry.write_text(before.replace(line, f"    FORMAT(example, none) \\\n{line}"))

    configure = ["cmake", "-S", kernels, "-B", build, f"-DCMAKE_C_COMPILER={mpi.mpicc}"]
    subprocess.run(configure, check=True, capture_output=True)
    make = ["cmake", "--build", build, "--parallel", "2", "--target", "gridio-info", "solver"]
    subprocess.run(make, check=True, capture_output=True)

    (told,) = (f for f in info(build)["formats"] if f["name"] == "example")
    assert (told["available"], told["suffix"]) == (True, ".example")
    assert list(told["never_with"]) == ["collective"]
    solver = Solver(mpi, build)
    assert "example" in solver.run(1, "--help").stdout
    for method in ("serial", "independent"):
        path = tmp_path / f"{method}.example"
        words = ["--grid", "8x6x2", "--steps", "4", "--every", "2", "--verify"]
        run = solver.run(2, *words, "--method", method, "--format", "example", "--file", path)
        assert run.returncode == 0, run.stderr
    written = [History(tmp_path / f"{method}.example") for method in ("serial", "independent")]
    assert written[0].steps == 2
    for name in ("tracer_1", "tracer_2"):
        np.testing.assert_array_equal(written[0].read(name, 1), written[1].read(name, 1))
    refused = solver.run(1, "--method", "collective", "--format", "example")
    assert refused.returncode != 0
    assert re.search("'collective' cannot write the format 'example'", refused.stderr)
