"""gridio as others use it: installed, found by pkg-config, from C and from Fortran."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.kernels.conftest import Solver
from tests.kernels.history import History

EXAMPLES = ROOT / "kernels" / "examples"
NX, NY, STEPS = 64, 48, 5


@pytest.fixture(scope="module")
def environment(debian: Solver, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a shell in which the installed gridio is found; it was moved after its installation, as
    packages are."""
    if not shutil.which("pkg-config"):
        pytest.skip("there is no pkg-config")
    places = tmp_path_factory.mktemp("places")
    install = ["cmake", "--install", debian.build, "--prefix", places / "installed"]
    subprocess.run(install, check=True, capture_output=True)
    shutil.move(places / "installed", places / "moved")
    (pc,) = (places / "moved").glob("lib*/**/gridio.pc")
    return {**debian.mpi.variables(), "PKG_CONFIG_PATH": str(pc.parent)}


@pytest.fixture(scope="module", params=["wave.c", "wave.f90"])
def program(request: pytest.FixtureRequest, debian: Solver, environment, tmp_path_factory) -> Path:
    compiler = debian.mpi.mpicc if request.param.endswith(".c") else debian.mpi.mpifort
    if not compiler or not shutil.which(compiler):
        pytest.skip(f"there is no compiler for {request.param}")
    flags = subprocess.check_output(
        ["pkg-config", "--cflags", "--libs", "gridio"], env=environment, text=True
    ).split()
    made = tmp_path_factory.mktemp("made") / "wave"
    compile_it = [
        compiler,
        "-Wall",
        "-Wextra",
        "-Werror",
        EXAMPLES / request.param,
        *flags,
        "-lm",
        "-o",
        made,
    ]
    subprocess.run(compile_it, check=True, env=environment)
    return made


def run(debian: Solver, program: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return debian.run(3, *words, program=os.fspath(program))


@pytest.mark.parametrize("pair", [("serial", "posix"), ("collective", "mpiio")])
def test_an_example_writes_the_wave_that_its_formula_says(debian, program, tmp_path, pair):
    done = run(debian, program, *pair, tmp_path / "wave")
    assert done.returncode == 0, done.stderr
    history = History(tmp_path / "wave")
    assert history.steps == STEPS
    assert history.variables["wave"].shape == (NY, NX)
    y, x = np.ogrid[:NY, :NX]
    for step in range(STEPS):
        np.testing.assert_allclose(
            history.read("wave", step), np.sin(0.1 * x + 0.2 * y - step), atol=1e-12
        )


@pytest.mark.parametrize(
    "pair", [("aggregated", "netcdf4"), ("file-per-rank", "hdf5"), ("independent", "pnetcdf")]
)
def test_an_example_has_every_format_that_the_installation_has(debian, program, tmp_path, pair):
    done = run(debian, program, *pair, tmp_path / "wave")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "wave").exists()


def test_a_failure_reaches_the_example_as_a_sentence(debian, program, tmp_path):
    done = run(debian, program, "collective", "posix", tmp_path / "wave")
    assert done.returncode != 0
    assert "the method 'collective' cannot write the format 'posix'" in done.stderr
