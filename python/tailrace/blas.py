"""NumPy without the threads of its linear algebra, for commands that people wait for."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

THREADS = "OPENBLAS_NUM_THREADS"


def load_numpy() -> None:
    """Imports NumPy. OpenBLAS starts a thread for each core as it is loaded, which takes as long
    as the rest of the import; the report multiplies no matrices. What is started later (a program)
    finds the variable as it was, and the library `tailrace` leaves a user's NumPy alone."""
    with _without_threads():
        _import_numpy()


@contextlib.contextmanager
def loading_numpy() -> Iterator[None]:
    """The same while something else is done, which leaves the environment alone; waits for it."""
    loading = threading.Thread(target=_import_numpy)
    with _without_threads():
        try:
            with contextlib.suppress(RuntimeError):  # no more threads: imported where it is used
                loading.start()
            yield
        finally:
            if loading.ident is not None:
                loading.join()


@contextlib.contextmanager
def _without_threads() -> Iterator[None]:
    if "numpy" in sys.modules or THREADS in os.environ:
        yield
        return
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[THREADS]


def _import_numpy() -> None:
    with contextlib.suppress(Exception):  # said where it is used
        import numpy  # noqa: F401
