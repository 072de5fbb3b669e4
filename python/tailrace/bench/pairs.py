"""Which methods go with which formats, as gridio decides it (kernels/gridio/internal.h), and what each format needs."""

from dataclasses import dataclass

from tailrace.bench.workload import FORMATS, METHODS, Workload
from tailrace.errors import TailraceError

# What a method asks of a format: one rank opens a file by itself; all move data together; each when it likes.
NEEDS = {
    "serial": "alone",
    "collective": "together",
    "independent": "apart",
    "aggregated": "apart",
    "file-per-rank": "alone",
}
CAN = {
    "posix": {"alone", "apart"},
    "mpiio": {"alone", "together", "apart"},
    "hdf5": {"alone", "together", "apart"},
    "netcdf4": {"alone", "together", "apart"},
    "netcdf3": {"alone"},
    "pnetcdf": {"together", "apart"},
    "cgns": {"alone", "together", "apart"},
}
USUAL = {
    "serial": "posix",
    "collective": "mpiio",
    "independent": "mpiio",
    "aggregated": "mpiio",
    "file-per-rank": "posix",
}


@dataclass(frozen=True)
class Library:
    """What a format is built with: Debian's packages for Open MPI, and whether it is there for every MPI."""

    packages: str
    any_mpi: bool


LIBRARIES = {
    "posix": Library("", True),
    "mpiio": Library("", True),
    "hdf5": Library("libhdf5-openmpi-dev", False),
    "netcdf4": Library("libnetcdf-mpi-dev libhdf5-openmpi-dev", False),
    "netcdf3": Library("libnetcdf-mpi-dev", False),
    "pnetcdf": Library("libpnetcdf-dev", False),
    "cgns": Library("libhdf5-openmpi-dev", False),
}


def possible(method: str, format_: str) -> bool:
    return NEEDS[method] in CAN[format_]


def all_pairs() -> list[tuple[str, str]]:
    return [(method, format_) for method in METHODS for format_ in FORMATS if possible(method, format_)]


def of(workload: Workload) -> list[tuple[str, str]]:
    """The pairs that make sense for a workload."""
    return [
        (method, format_) for method in workload.methods for format_ in workload.formats if possible(method, format_)
    ]


def choose(workload: Workload, method: str | None, format_: str | None) -> tuple[str, str]:
    """The pair that was asked for, or the usual one for what was left open. Raises where it cannot be."""
    for what, word, known, meant in (
        ("method", method, METHODS, workload.methods),
        ("format", format_, FORMATS, workload.formats),
    ):
        if word is not None and word not in known:
            raise TailraceError(f"there is no {what} {word!r}; there are {', '.join(known)}")
        if word is not None and word not in meant:
            raise TailraceError(
                f"the {what} {word} makes no sense for {workload.name}",
                f"its {what}s are {', '.join(meant)}",
            )
    pairs = [
        pair
        for pair in of(workload)
        if (method is None or pair[0] == method) and (format_ is None or pair[1] == format_)
    ]
    if pairs:
        return pairs[0]
    raise TailraceError(refusal(workload, method, format_))


def refusal(workload: Workload, method: str | None, format_: str | None) -> str:
    """Why the pair cannot be, and which can."""
    formats = [other for other in workload.formats if method is None or possible(method, other)]
    methods = [other for other in workload.methods if format_ is None or possible(other, format_)]
    return (
        f"the method {method} does not go with the format {format_}: "
        f"with {method} go {', '.join(formats) or 'none'}; with {format_} go {', '.join(methods) or 'none'}"
    )
