"""Which MPI libraries are on this machine, and which of them a command will use. Nothing is
launched."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tailrace.cache import remembered
from tailrace.capture.elf import MPI_FAMILIES, find_mpi_library
from tailrace.capture.launch import OF_BATCH_SYSTEMS, Launch

# The last two are Debian's, where both are installed and `mpicc` is one of them.
COMPILER_NAMES = ("mpicc", "mpicc_abi", "mpicc.mpich", "mpicc.openmpi")


class Installation(NamedTuple):
    """One MPI to compile for: its compiler, the soname that programs built with it need, and the
    mpiexec beside it."""

    mpicc: Path
    soname: str
    mpiexec: Path | None

    @property
    def family(self) -> str:
        return MPI_FAMILIES.get(self.soname, "unknown")


def for_command(launch: Launch) -> list[Installation]:
    """Those that the command may use, one per soname, the most certain first.

    That is the MPI that the program is linked with, if it is linked with one: its own installation,
    else the neighbours of mpiexec (not of a batch system's launcher), else the PATH; none for a
    program without MPI and without launcher. For a script or an interpreter it is every MPI beside
    mpiexec, or all on the PATH: the choice is made at run time, by what the process has loaded.
    """
    linked = find_mpi_library(launch.program) if launch.program is not None else None
    if linked is None and launch.launcher is None and launch.is_plain_program:
        return []
    beside = (
        [launch.launcher.parent, Path(os.path.realpath(launch.launcher)).parent]
        if launch.launcher and launch.launcher.name not in OF_BATCH_SYSTEMS
        else []
    )
    found = installed([*(_folders_beside(linked[1]) if linked and linked[1] else []), *beside])
    near = [mpi for mpi in found if mpi.mpicc.parent in beside]
    wanted = [mpi for mpi in found if linked and mpi.soname == linked[0]] or near or found
    return first_of_each_soname(wanted)


def installed(before: Iterable[Path] = ()) -> list[Installation]:
    """All whose compiler is found: in the folders given, then by MPICC, then along the PATH."""
    compiler = shutil.which(os.environ.get("MPICC", ""))
    named = [Path(compiler)] if compiler else []
    folders = [
        *before,
        *(Path(part) for part in os.environ.get("PATH", "").split(os.pathsep) if part),
    ]
    candidates = [*named, *(folder / name for folder in folders for name in COMPILER_NAMES)]
    # The folder is resolved (/bin is /usr/bin), the file not: a wrapper goes by the name it is
    # called with.
    usable = dict.fromkeys(
        path.parent.resolve() / path.name for path in candidates if os.access(path, os.X_OK)
    )
    found = [mpi for path in usable if path.is_file() if (mpi := _installation(path)) is not None]
    first: dict[tuple[Path, str], Installation] = {}
    for mpi in found:  # by its first name: /usr/bin/mpicc is mpicc.openmpi, say
        first.setdefault((mpi.mpicc.parent, mpi.soname), mpi)
    return list(first.values())


def _folders_beside(library: Path) -> list[Path]:
    """bin directories above PREFIX/lib/libmpi.so.12, of the file itself and of what it links to."""
    files = (library, Path(os.path.realpath(library)))
    return [parent / "bin" for file in files for parent in list(file.parents)[1:4]]


def first_of_each_soname(found: list[Installation]) -> list[Installation]:
    return list({installation.soname: installation for installation in reversed(found)}.values())[
        ::-1
    ]


def _installation(mpicc: Path) -> Installation | None:
    # To ask takes a compilation.
    name = remembered("sonames", mpicc, lambda: _asked_soname(mpicc))
    if not name:
        return None
    beside = mpicc.with_name(f"mpiexec{mpicc.suffix}")
    return Installation(mpicc, name, beside if beside.is_file() else None)


def _asked_soname(mpicc: Path) -> str:
    from tailrace.capture.build import soname

    return soname(str(mpicc)) or ""
