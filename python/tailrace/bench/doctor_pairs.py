"""What `tailrace doctor` says of the kernels: which method goes with which format here, and how to
get what is missing.

The build for the MPI that `tailrace bench` would use, that of the mpiexec on the PATH, is asked
itself.
"""

import os
import shutil
from dataclasses import dataclass

from tailrace.bench import gridio, kernels, launcher, pairs
from tailrace.bench.gridio import FORMATS, METHODS
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.terminal import tell


@dataclass(frozen=True)
class SeenPair:
    """As doctor's Check has them. `state`: ok, missing or note."""

    topic: str
    state: str
    found: str
    command: str = ""


@dataclass(frozen=True)
class Pairs:
    """`findings` for people; `answer` for JSON."""

    findings: list[SeenPair]
    answer: dict[str, object]


def look() -> Pairs:
    """Never raises: what cannot be asked is a finding."""
    try:
        found = launcher.find(None)
        here = kernels.pairs_of(found.mpi, tell)
    except TailraceError as error:
        return Pairs(
            [SeenPair("bench", "note", f"tailrace bench cannot run: {error.message}", error.hint)],
            _nothing(),
        )
    mpi = f"{found.mpi.family} ({printable(found.words[0])})"
    findings = [
        SeenPair(
            "bench",
            "ok",
            f"runs with {mpi}, the mpiexec on the PATH; --mpiexec names another",
        )
    ]
    findings += [_method(method, here) for method in METHODS]
    findings += _missing(here) + _programs()
    listed = [
        {"method": method, "format": format_}
        for method, format_ in pairs.all_pairs()
        if (method, format_) in here
    ]
    return Pairs(
        findings, {"mpiexec": printable(found.words[0]), "mpi": found.mpi.family, "pairs": listed}
    )


def _nothing() -> dict[str, object]:
    return {"mpiexec": None, "mpi": None, "pairs": []}


def _method(method: str, here: frozenset[tuple[str, str]]) -> SeenPair:
    formats = [format_ for format_ in FORMATS if (method, format_) in here]
    return SeenPair("bench", "ok", f"--method {method} --format {' | '.join(formats) or 'none'}")


def _missing(here: frozenset[tuple[str, str]]) -> list[SeenPair]:
    """The formats that the build lacks, with Debian's packages for them."""
    there = {format_ for _, format_ in here}
    absent = [format_ for format_ in FORMATS if format_ not in there]
    if not absent:
        return []
    packages = sorted({package for format_ in absent for package in gridio.packages(format_)})
    text = (
        f"no format {', '.join(absent)}: their libraries must belong to the MPI in use, as "
        "Debian's do to its Open MPI"
    )
    return [SeenPair("bench", "note", text, f"{_apt()} {' '.join(['openmpi-bin', *packages])}")]


def _programs() -> list[SeenPair]:
    """What single workloads and the verification need beside."""
    wanted = (
        ("ccx", "calculix-ccx", "the workload calculix"),
        ("cgnscheck", "cgns-convert", "checking CGNS files"),
    )
    return [
        SeenPair(
            "bench",
            "note",
            f"no {program}: {what} is left out",
            f"{_apt()} {package}",
        )
        for program, package, what in wanted
        if shutil.which(program) is None
    ]


def _apt() -> str:
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install"
