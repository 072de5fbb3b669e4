"""Builds capture on the user's machine.

``build_core(output)`` compiles ``libtailrace.so``; ``build_flavour(mpicc, output)`` the library for one MPI, to be named
``libtailrace-mpi-<soname>.so`` (``soname(mpicc)``) in the folder that TAILRACE_LIBRARIES names. Both raise BuildError.
"""

from .build import build_core, build_flavour, soname
from .failures import BuildError

__all__ = ["BuildError", "build_core", "build_flavour", "soname"]
