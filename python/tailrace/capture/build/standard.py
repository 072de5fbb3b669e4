"""What the MPI standard says about its procedures, from pympistandard's machine-readable copy of
it.

``Procedure`` knows the C names of both sizes (``MPI_Send``, ``MPI_Send_c``), the parameters'
standard names in order, and the Fortran bindings' symbols.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import pympistandard

# MPI-1's names that the standard has removed, in no machine-readable list any more. MPICH still has
# them.
REMOVED = (
    "MPI_Address", "MPI_Errhandler_create", "MPI_Errhandler_get", "MPI_Errhandler_set", "MPI_Type_extent", "MPI_Type_hindexed",
    "MPI_Type_hvector", "MPI_Type_lb", "MPI_Type_struct", "MPI_Type_ub",
    # Not in any standard, but in Open MPI 5's mpi.h.
    "MPI_Session_set_info",
)  # fmt: skip

# What is not wrapped, and why. tests/capture/test_mpi_coverage.py holds the installed headers
# against this.
OMISSIONS = {
    "MPI_Wtime": "takes as long as recording it, orders nothing",
    "MPI_Wtick": "as MPI_Wtime",
    "MPI_Aint_add": "arithmetic",
    "MPI_Aint_diff": "arithmetic",
}
OMITTED_SUFFIXES = {
    (
        "_c2f",
        "_f2c",
        "_fromint",
        "_toint",
        "_c2f08",
        "_f082c",
        "_f2f08",
        "_f082f",
    ): "converts a handle or a status: arithmetic",
}
OMITTED_PREFIXES = {
    "MPI_T_": "the tools' interface: no part of the program's communication, and called while MPI is not initialized",
    "MPI_Abi_": "asks which ABI the library has: no communication",
}


def omission(name: str) -> str | None:
    """Why ``name`` is not wrapped; None where it is."""
    for suffixes, reason in OMITTED_SUFFIXES.items():
        if name.endswith(suffixes):
            return reason
    for prefix, reason in OMITTED_PREFIXES.items():
        if name.startswith(prefix):
            return reason
    return OMISSIONS.get(name)


@dataclass(frozen=True)
class Parameter:
    """``c_type`` is the type of the value (of what a pointer or array points to), without const."""

    name: str
    c_type: str
    kind: str


@dataclass(frozen=True)
class Procedure:
    """One C function of the standard; ``large`` where it is the variant with MPI_Count
    arguments."""

    name: str
    base: str
    large: bool
    parameters: tuple[Parameter, ...]
    # without ierror; None where Fortran has no such procedure
    fortran: tuple[Parameter, ...] | None
    has_f08: bool


@functools.cache
def procedures() -> dict[str, Procedure]:
    """All C functions by name, the large-count variants among them."""
    pympistandard.use_api_version(1)
    found = {}
    for entry in pympistandard.PROCEDURES.values():
        if entry.express.iso_c is None:
            continue
        for binding in entry.express.all_iso_c:
            if "Profiling" not in type(binding).__name__:
                procedure = _procedure(entry, binding)
                found[procedure.name] = procedure
    return found


def _procedure(entry, binding) -> Procedure:  # type: ignore[no-untyped-def]
    large = "Embiggened" in type(binding).__name__
    name = str(binding).split("(")[0].split()[-1].lstrip("*")
    parameters = tuple(
        _parameter(each) for each in binding.parameters if str(each) not in ("void", "...")
    )
    base = name.removesuffix("_c") if large else name
    fortran = (
        _fortran(entry.express.f90, parameters)
        if entry.express.f90
        else _fortran(entry.express.f08, parameters)
    )
    return Procedure(name, base, large, parameters, fortran, entry.express.f08 is not None)


def _parameter(parameter: Any) -> Parameter:
    words = str(parameter).replace("*", " ").replace("const", " ").split("[")[0].split()
    return Parameter(parameter.name, words[0] if words else "void", parameter._parseset["kind"])


def _fortran(binding: Any, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...] | None:
    if binding is None:
        return None
    by_name = {parameter.name.lower(): parameter for parameter in parameters}
    found = []
    for each in binding.parameters:
        name = each.name.lower()
        if name != "ierror":
            found.append(by_name.get(name, Parameter(name, "void", each._parseset["kind"])))
    return tuple(found)


STRING_KINDS = {"STRING", "STRING_ARRAY", "STRING_2DARRAY"}


@functools.cache
def wrapped_names() -> tuple[str, ...]:
    """Every C function that may be wrapped, sorted: the standard's, minus the omissions, plus the
    removed ones."""
    return tuple(sorted({name for name in (*procedures(), *REMOVED) if omission(name) is None}))


def fortran_symbols(procedure: Procedure) -> dict[str, tuple[str, ...]]:
    """Symbols of the Fortran bindings by binding (``fortran``, ``f08``, ``descriptor``), the first
    the usual mangling."""
    if procedure.fortran is None:
        return {}
    lower, upper = procedure.base.lower(), procedure.base.upper()
    size = "_large" if procedure.large else ""
    symbols: dict[str, tuple[str, ...]] = {}
    if not procedure.large:
        symbols["fortran"] = (f"{lower}_", f"{lower}__", lower, upper)
    if procedure.has_f08:
        symbols["f08"] = (f"{lower}_f08{size}_",)
        symbols["descriptor"] = (f"{lower}_f08ts{size}_",)
    return symbols


@functools.cache
def all_symbols() -> tuple[str, ...]:
    """Every symbol that has a trampoline, sorted."""
    symbols = set(wrapped_names())
    for name in wrapped_names():
        if name in procedures():
            for family in fortran_symbols(procedures()[name]).values():
                symbols.update(family)
    return tuple(sorted(symbols))
