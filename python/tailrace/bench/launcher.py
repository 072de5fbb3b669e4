"""The mpiexec that starts the kernels, the compiler that belongs to it, and the variables that it
needs."""

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from tailrace.capture.launch import Launch, executable
from tailrace.capture.mpi import Installation, for_command, installed
from tailrace.errors import TailraceError
from tailrace.names import printable

OPEN_MPI = "libmpi.so.40"
# Open MPI 4 and 5 read different ones. A kernel writes below one directory only, so that it may run
# as root, as in a container; more ranks than cores are allowed, and the report then says so.
OPEN_MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPEN_MPI_CROWDED = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


# OMPIO, Open MPI's own MPI-IO, loses data in collective transfers of a few kilobytes a rank
# (open-mpi/ompi issues 12718 and 10546; seen here with 4.1.4 in every third run), and PnetCDF
# crashes in it. ROMIO, which it also has, does not.
OPEN_MPI_ROMIO = {"OMPI_MCA_io": "^ompio"}


@dataclass(frozen=True)
class Launcher:
    """`words`: mpiexec and the user's options for it."""

    words: tuple[str, ...]
    mpi: Installation

    def command(self, ranks: int, program: list[str]) -> list[str]:
        return [*self.words, "-n", str(ranks), *program]

    def environment(self, ranks: int) -> dict[str, str]:
        """What the user has set counts; what is missing is added."""
        wanted: dict[str, str] = {}
        if self.mpi.soname == OPEN_MPI:
            wanted |= OPEN_MPI_ROMIO
        if self.mpi.soname == OPEN_MPI and os.geteuid() == 0:
            wanted |= OPEN_MPI_AS_ROOT
        if self.mpi.soname == OPEN_MPI and ranks > cores():
            wanted |= OPEN_MPI_CROWDED
        return wanted | dict(os.environ)

    def mpi_io(self, ranks: int) -> str:
        """Which implementation of MPI-IO is used: in Open MPI what the variable chooses, elsewhere
        ROMIO."""
        if self.mpi.soname != OPEN_MPI:
            return "ROMIO"
        return f"OMPI_MCA_io={self.environment(ranks)['OMPI_MCA_io']}"


def cores() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0))


def find(text: str | None) -> Launcher:
    """The mpiexec that was named, perhaps with options (`srun --mpi=pmix`), else the one on the
    PATH."""
    words = shlex.split(text) if text else ["mpiexec"]
    path = executable(words[0]) if words else None
    if path is None:
        what = (
            f"there is no {printable(words[0])}"
            if text and words
            else "there is no mpiexec on the PATH"
        )
        raise TailraceError(
            what, "`tailrace doctor` shows which MPI is found; choose another with --mpiexec"
        )
    return Launcher((str(path.absolute()), *words[1:]), compiler_of(path))


def compiler_of(mpiexec: Path) -> Installation:
    """The MPI installation whose mpiexec this is."""
    found = _alternatives(mpiexec) or for_command(Launch(mpiexec, None, "kernels"))
    for mpi in found:
        if not mpi.mpicc.name.startswith("mpicc_abi"):
            return mpi
    raise TailraceError(
        f"there is no mpicc beside {printable(str(mpiexec))}; the kernels are compiled with it",
        "`tailrace doctor` shows which MPI is complete, and how to install what is missing",
    )


def _alternatives(mpiexec: Path) -> list[Installation]:
    """Debian's mpiexec.openmpi goes with mpicc.openmpi, whatever mpicc is at the moment."""
    real = Path(os.path.realpath(mpiexec))
    _, dot, family = real.name.partition(".")
    named = real.with_name(f"mpicc.{family}") if dot else None
    beside = [
        mpi
        for mpi in installed([mpiexec.parent])
        if named and os.path.realpath(mpi.mpicc) == str(named)
    ]
    return beside if named and shutil.which(str(named)) else []
