"""Programs that others wrote, or that do what many do: none of them was any model made on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
RANKS = 2
# Of the system: its mpi4py and h5py are of one MPI.
PYTHON = "/usr/bin/python3"
MPIEXEC = ("mpirun.openmpi", "--oversubscribe", "-n", str(RANKS))
SMALL_FILES, SMALL_BYTES = 600, 6000
CHECKPOINT_BYTES = 24 << 20


@dataclass(frozen=True)
class Program:
    """`command`: of the folder that its files go to, and another for what it needs once. `input`:
    what has to lie in the folder first."""

    name: str
    command: Callable[[Path, Path], list[str]]
    before: Callable[[Path], None] = lambda folder: None
    input: Callable[[Path], None] = lambda folder: None


def _archive(aside: Path) -> None:
    files = aside / "files"
    for number in range(SMALL_FILES):
        path = files / f"{number % 20}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SMALL_BYTES))
    with tarfile.open(aside / "files.tar", "w") as archive:
        archive.add(files, "files")


def _checkpoints(folder: Path) -> None:
    for rank in range(RANKS):
        with (folder / f"checkpoint-0-{rank}").open("wb") as file:
            file.write(os.urandom(CHECKPOINT_BYTES))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _compiled(aside: Path) -> None:
    subprocess.run(
        ["gfortran", "-O1", "-o", aside / "formatted", HERE / "formatted.f90"], check=True
    )


def _ranks(script: str) -> Callable[[Path, Path], list[str]]:
    return lambda folder, aside: [*MPIEXEC, PYTHON, str(HERE / script), str(folder)]


def _alone(script: str) -> Callable[[Path, Path], list[str]]:
    return lambda folder, aside: [PYTHON, str(HERE / script), str(folder)]


PROGRAMS = (
    Program(
        "tar",
        lambda folder, aside: ["tar", "-x", "-f", f"{aside}/files.tar", "-C", str(folder)],
        before=_archive,
    ),
    Program("sqlite", _alone("inserts.py")),
    Program("netcdf4-python", _alone("grids.py")),
    Program("h5py", _ranks("slabs.py")),
    Program("mpi4py", _ranks("scattered.py")),
    Program("restart", _ranks("restart.py"), input=_checkpoints),
    Program("fortran", lambda folder, aside: [f"{aside}/formatted", str(folder)], before=_compiled),
    Program(
        "lammps",
        lambda folder, aside: [
            *MPIEXEC, "lmp", "-in", str(HERE / "melt.in"), "-var", "folder", str(folder),
            "-log", "none", "-screen", "none",
        ],
    ),
)  # fmt: skip


def can_run(program: Program, aside: Path) -> bool:
    words = program.command(aside, aside)
    starts = [words[0], *(("lmp",) if "lmp" in words else ())]
    return all(shutil.which(word) or word.startswith(str(aside)) for word in starts)


def environment() -> dict[str, str]:
    """Of the system's own Python, and Open MPI as root."""
    own = sysconfig.get_path("scripts")
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != own)
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **allowed, "PATH": path, "HDF5_USE_FILE_LOCKING": "FALSE"}
