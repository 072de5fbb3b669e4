"""LAMMPS, GROMACS, CalculiX, Quantum ESPRESSO and OpenFOAM on small inputs written for this test:
as without capture, and the bytes that strace counts; of CalculiX and OpenFOAM also the finding that
an expert would give. test_output_routines.py has that of LAMMPS, and test_findings.py those of the
others, whose output is too short here to be one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mpi, find_mpi
from tests.real import inputs
from tests.real.harness import Compared, Program, Varying, assert_same_bytes, compare, needs

pytestmark = [
    pytest.mark.whole,
    pytest.mark.alone,
    pytest.mark.measured("the finding about a run of a fraction of a second"),
]

# From there on LAMMPS prints how long things took.
LAMMPS_TIMES = (r"CPU = [\d.]+", r"(?s)Loop time of.*", r"Total wall time.*")
CALCULIX_TIMES = (r"1UDATE .*", r"1UTIME .*", r"Total CalculiX Time.*")
# pw.x: dates, and times of routines; its binary data are compared whole.
ESPRESSO_TIMES = (
    r"starts on .*", r"(?s)Writing (all|output|config) .*", r"total cpu time.*",
    r"estimated (static|max|total) .*", r"MPI version.*",
)  # fmt: skip
OPENFOAM_TIMES = (
    r"ExecutionTime = .*", r"(Date|Time) +: .*", r"Host +: .*", r"PID +: .*", r"Case +: .*",
    r'"?vm\.\d+"?', r"(?m)^\d+\n\(\n\"vm.*", r"Slaves.*",
)  # fmt: skip


@pytest.fixture
def debian() -> Mpi:
    return find_mpi("system-openmpi")


def test_lammps_dumps_each_step_from_one_rank(debian: Mpi, tmp_path: Path) -> None:
    lammps = needs("lammps", "lmp")
    program = Program(
        debian.launch(2, lammps, "-in", "in.lj"),
        inputs.lammps,
        debian.environment,
        Varying(LAMMPS_TIMES),
    )
    compared = compare(tmp_path, program)
    assert_same_bytes(compared, outside=("log.lammps",))  # it holds times, of any length
    files = compared.run.file_ranks.merge(
        compared.run.files["path"], left_on="file", right_index=True
    )
    dump = files[files["path"].str.endswith("/dump.lammpstrj") & (files["bytes_written"] > 0)]
    assert list(dump["rank"]) == [0]


def test_calculix_prints_each_record(tmp_path: Path) -> None:
    ccx = needs("calculix-ccx", "ccx")
    varying = Varying(CALCULIX_TIMES)
    program = Program([ccx, "-i", "beam"], inputs.calculix, {"OMP_NUM_THREADS": "1"}, varying)
    compared = compare(tmp_path, program)
    assert_same_bytes(compared)
    records = compared.file("beam.dat")
    assert records["bytes_written"] / records["writes"] < 1000
    assert "to beam.dat (formatting" in found(compared, "between_calls")


def gromacs(mpi: Mpi, folder: Path, edge: int = 7, steps: int = 100) -> Program:
    """Two ranks, on what grompp has made in `folder`."""
    tool, mdrun = needs("gromacs", "gmx"), needs("gromacs", "gmx_mpi")
    prepared = folder / "prepared"
    prepared.mkdir()
    inputs.gromacs(prepared, edge, steps)
    command = [tool, "-nobackup", "grompp", "-f", "run.mdp", "-c", "start.gro", "-p", "top.top"]
    subprocess.run(command, cwd=prepared, check=True, capture_output=True)

    def copied(work: Path) -> None:
        shutil.copy(prepared / "topol.tpr", work)

    command = [mdrun, "-nobackup", "mdrun", "-reprod", "-ntomp", "1", "-dlb", "no", "-pin", "off"]
    # The log and what GROMACS prints are about times and hosts; so are the heads of the others.
    varying = Varying((r"(?s).*",), ("state*.cpt", "md.log", "ener.edr"))
    return Program(mpi.launch(2, *command), copied, mpi.environment, varying)


def test_gromacs_writes_each_step(debian: Mpi, tmp_path: Path) -> None:
    compared = compare(tmp_path, gromacs(debian, tmp_path))
    assert compared.file("traj.trr")["bytes_written"] == moved(compared, "traj.trr")[1] > 0


def pseudopotentials() -> dict[str, str]:
    """Where pw.x finds aluminium's."""
    folder = Path("/usr/share/espresso/pseudo")
    if not (folder / "Al.pz-vbc.UPF").is_file():
        pytest.skip("there is no Al.pz-vbc.UPF: apt-get install quantum-espresso-data")
    return {"ESPRESSO_PSEUDO": str(folder), "OMP_NUM_THREADS": "1"}


def test_espresso_writes_its_wave_functions(debian: Mpi, tmp_path: Path) -> None:
    pw = needs("quantum-espresso", "pw.x")
    program = Program(
        debian.launch(2, pw, "-in", "al.in"),
        inputs.espresso,
        {**debian.environment, **pseudopotentials()},
        Varying(ESPRESSO_TIMES, ("*.xml",)),
    )
    compared = compare(tmp_path, program)
    # These hold times, of any length.
    assert_same_bytes(compared, outside=("al.xml", "data-file-schema.xml"))


def test_openfoam_writes_many_files_each_step(debian: Mpi, tmp_path: Path) -> None:
    solver = needs("openfoam", "icoFoam")
    settings = {"WM_PROJECT_DIR": "/usr/share/openfoam"}
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    inputs.openfoam(prepared)
    for tool in ("blockMesh", "decomposePar"):
        command = [needs("openfoam", tool)]
        variables = {**os.environ, **settings}
        subprocess.run(command, cwd=prepared, env=variables, check=True, capture_output=True)

    def copied(work: Path) -> None:
        shutil.copytree(prepared, work, dirs_exist_ok=True)

    program = Program(
        debian.launch(2, solver, "-parallel"),
        copied,
        {**debian.environment, **settings},
        Varying(OPENFOAM_TIMES),
    )
    compared = compare(tmp_path, program)
    assert_same_bytes(compared)
    assert "files of" in found(compared, "many_files")


def found(compared: Compared, code: str) -> str:
    """What is said; all findings where that is not."""
    findings = {finding.code: finding.finding for finding in compared.run.findings}
    return findings.get(code, str(findings))


def moved(compared: Compared, name: str) -> tuple[int, int]:
    (found,) = [m for path, m in compared.moved.items() if path.endswith(f"/{name}")]
    return found
