"""``python -m tailrace.capture.build FOLDER [MPICC…]``: builds libtailrace.so and the flavour
libraries into FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from . import BuildError, build_core, build_flavour, soname


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    try:
        build_core(folder / "libtailrace.so")
        for mpicc in arguments[1:]:
            build_flavour(mpicc, folder / f"libtailrace-mpi-{soname(mpicc)}.so")
    except BuildError as error:
        print(f"{error.message}\n\nhint: {error.hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
