"""Independent readers: the files that gridio wrote, read without any of its code. One module per format.

`open_file` gives a File, whose variables say what they are and give boxes of their values. A directory of the
file-per-rank method is read file by file: each says which blocks of the whole its variables are.
"""

from pathlib import Path

from tailrace.bench.readers.stored import File
from tailrace.errors import TailraceError
from tailrace.names import printable


def open_file(path: Path, format_: str) -> File:
    """The file, by the reader for its format."""
    try:
        return _reader(format_)(path)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise TailraceError(f"{printable(str(path))} cannot be read as {format_}: {printable(str(error))}") from None


def _reader(format_: str) -> type[File]:
    match format_:
        case "posix" | "mpiio" | "raw":
            from tailrace.bench.readers.raw import RawFile

            return RawFile
        case "netcdf4" | "netcdf3" | "pnetcdf":
            _needed("netCDF4", format_)
            from tailrace.bench.readers.netcdf import NetcdfFile

            return NetcdfFile
        case "hdf5":
            _needed("h5py", format_)
            from tailrace.bench.readers.hdf5 import Hdf5File

            return Hdf5File
    _needed("h5py", format_)
    from tailrace.bench.readers.cgns import CgnsFile

    return CgnsFile


def _needed(package: str, format_: str) -> None:
    import importlib.util

    if importlib.util.find_spec(package) is None:
        raise TailraceError(
            f"without the Python package {package}, files in the format {format_} cannot be verified",
            f"pip install {package}, or --no-verify",
        )
