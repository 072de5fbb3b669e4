"""Independent readers: the files that gridio wrote, read without any of its code. One module per
kind of file, which the suffix of the format names.

`open_file` gives a File, whose variables say what they are and give boxes of their values. A
directory of the file-per-rank method is read file by file: each says which blocks of the whole its
variables are.
"""

import glob
from dataclasses import dataclass
from pathlib import Path

from tailrace.bench import gridio
from tailrace.bench.readers.stored import File
from tailrace.bench.records import Record
from tailrace.errors import TailraceError
from tailrace.names import printable


@dataclass(frozen=True)
class Written:
    """What the records say of a stream: how it was written, by how many ranks, and its variables by
    name."""

    method: str
    format: str
    ranks: int
    variables: dict[str, Record]


def files_of(path: Path) -> list[Path]:
    """The files that an output consists of: itself, those in its directory, or PATH.0000 and so on;
    those that are."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.name.startswith("rank-"))
    if path.exists():
        return [path]
    return sorted(
        file
        for file in path.parent.glob(f"{glob.escape(path.name)}.*")
        if file.suffix[1:].isdigit()
    )


def open_file(path: Path, written: Written) -> File:
    """The file, by the reader for its format. Raises TailraceError where it cannot be read so."""
    try:
        return _open(path, written)
    except (OSError, ValueError, KeyError, IndexError, RuntimeError, StopIteration) as error:
        text = printable(str(error)) or type(error).__name__
        raise TailraceError(
            f"{printable(str(path))} cannot be read as {written.format}: {text}"
        ) from None


def _open(path: Path, written: Written) -> File:
    if written.format == "raw":
        return _headerless(path, written)
    suffix = gridio.suffix(written.format)
    if suffix == ".grid":
        from tailrace.bench.readers.raw import RawFile

        return RawFile(path)
    if suffix == ".nc":
        _needed("netCDF4", written.format)
        from tailrace.bench.readers.netcdf import NetcdfFile

        return NetcdfFile(path)
    _needed("h5py", written.format)
    return _hdf5(path, written)


def _headerless(path: Path, written: Written) -> File:
    from tailrace.bench.readers.headerless import DiagonalFile, PlainFile

    if written.method == "epio":
        return DiagonalFile(path, written.variables, written.ranks)
    return PlainFile(path, written.variables)


def _hdf5(path: Path, written: Written) -> File:
    if gridio.suffix(written.format) == ".h5":
        from tailrace.bench.readers.hdf5 import Hdf5File

        return Hdf5File(path)
    from tailrace.bench.readers.cgns import CgnsFile, NodesFile

    if written.method.startswith("cgp"):
        return NodesFile(path, written.variables)
    return CgnsFile(path)


def _needed(package: str, format_: str) -> None:
    import importlib.util

    if importlib.util.find_spec(package) is None:
        raise TailraceError(
            f"verifying files in the format {format_} needs the Python package {package}",
            f"pip install {package}, or --no-verify",
        )
