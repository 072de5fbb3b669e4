"""NumPy without the threads of its linear algebra, for commands that people wait for."""

import os
import sys

THREADS = "OPENBLAS_NUM_THREADS"


def load_numpy() -> None:
    """Imports NumPy. OpenBLAS starts a thread for each core as it is loaded, which takes as long
    as the rest of the import; the report multiplies no matrices. What is started later (a program)
    finds the variable as it was, and the library `tailrace` leaves a user's NumPy alone."""
    if "numpy" in sys.modules or THREADS in os.environ:
        return
    os.environ[THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[THREADS]
