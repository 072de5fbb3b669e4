"""Builds capture on the user's machine.

``build_core(output)`` compiles ``libtailrace.so``; ``build_flavour(mpicc, output)`` the library for
one MPI, to be named ``libtailrace-mpi-<soname>.so`` (``soname(mpicc)``) in the folder that
TAILRACE_LIBRARIES names. Both raise BuildError.
"""

from typing import TYPE_CHECKING, Any

from .failures import BuildError

if TYPE_CHECKING:
    from .build import build_core, build_flavour, mpi_compile_flags, soname

__all__ = ["BuildError", "build_core", "build_flavour", "mpi_compile_flags", "soname"]


def __getattr__(name: str) -> Any:
    """Imports the generator when something is to be built: most runs find it built."""
    if name in __all__:
        from . import build

        return getattr(build, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
